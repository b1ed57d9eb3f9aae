import type { Database } from "./database";

export interface Order {
  id: number;
  customer: string;
  createdAt: string;
}

export async function listOrders(db: Database): Promise<Order[]> {
  return db.all<Order>("SELECT id, customer, created_at AS createdAt FROM orders ORDER BY created_at DESC, id DESC");
}
