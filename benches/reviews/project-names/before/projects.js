"use strict";

class Projects {
  constructor() {
    this.names = new Set();
  }

  create(name) {
    this.names.add(name);
    return { status: 201 };
  }
}

module.exports = { Projects };
