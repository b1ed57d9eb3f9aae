"use strict";

class Prices {
  /** `service.price(product, country, group)` resolves with cents. */
  constructor(service) {
    this.service = service;
  }

  async priceOf(product, customer) {
    return this.service.price(product, customer.country, customer.group);
  }
}

module.exports = { Prices };
