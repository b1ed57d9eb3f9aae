"use strict";

class Page {
  constructor(render) {
    this.render = render;
  }

  async send(path, response) {
    response.end(await this.render(path));
  }
}

module.exports = { Page };
