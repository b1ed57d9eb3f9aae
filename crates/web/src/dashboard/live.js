"use strict";
// Replaces the parts of a page that changed, whenever the server says that something did. Without this
// script the page still has everything, as of when it was loaded.
(() => {
  const main = document.getElementById("main");
  const events = main && main.dataset.events;
  if (!events) return;
  let busy = false;
  let again = false;
  const isInUse = (part) =>
    part.contains(document.activeElement) ||
    [...part.querySelectorAll("textarea, input:not([type=hidden])")].some((field) => field.value);
  const reload = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.href);
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const next = page.querySelector(`[data-live="${part.dataset.live}"]`);
        if (!next || next.innerHTML === part.innerHTML || isInUse(part)) continue;
        part.replaceChildren(...next.childNodes);
      }
    } catch {
      // The server has gone; the stream tries again by itself.
    } finally {
      busy = false;
      if (again) {
        again = false;
        reload();
      }
    }
  };
  new EventSource(events).addEventListener("message", reload);
})();
