import type { Database } from "./database";
import { listOrders } from "./orders";

export async function handle(db: Database, url: URL): Promise<string> {
  return JSON.stringify(await listOrders(db));
}
