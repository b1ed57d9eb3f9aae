"use strict";

/** Adds up items of `{ price, count }`, in euros with two decimals. */
function total(items) {
  const cents = items.reduce((sum, item) => sum + Math.round(item.price * 100) * item.count, 0);
  return cents / 100;
}

module.exports = { total };
