"use strict";

/** Reads the settings of the importer. */
function readSettings(raw) {
  return { limit: raw.limit, retries: raw.retries };
}

module.exports = { readSettings };
