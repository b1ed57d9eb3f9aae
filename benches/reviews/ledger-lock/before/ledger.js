"use strict";

class Ledger {
  constructor(store) {
    this.store = store;
  }

  /** Appends one entry; resolves once it is on disk, rejects if it could not be written. */
  async append(entry) {
    await this.store.write(JSON.stringify(entry) + "\n");
  }
}

module.exports = { Ledger };
