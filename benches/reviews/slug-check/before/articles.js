"use strict";

class Articles {
  constructor() {
    this.bySlug = new Map();
  }

  save(slug, text) {
    this.bySlug.set(slug, text);
    return { status: 204 };
  }
}

module.exports = { Articles };
