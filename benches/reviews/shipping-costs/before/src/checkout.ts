export interface Item {
  cents: number;
  grams: number;
  count: number;
}

export interface Bill {
  goods: number;
  shipping: number;
  total: number;
}

export function checkout(items: Item[], country: string): Bill {
  let goods = 0;
  let grams = 0;
  for (const item of items) {
    goods += item.cents * item.count;
    grams += item.grams * item.count;
  }
  let shipping = 0;
  if (goods < 5000) {
    shipping = country === "DE" ? 490 : 990;
    if (grams > 10000) {
      shipping += 500;
    }
  }
  return { goods, shipping, total: goods + shipping };
}
