"use strict";

async function transfer(ledger, from, to, cents) {
  await ledger.append({ account: from, cents: -cents });
  await ledger.append({ account: to, cents });
}

module.exports = { transfer };
