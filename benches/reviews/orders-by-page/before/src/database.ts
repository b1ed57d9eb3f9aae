export interface Database {
  all<T>(sql: string, ...values: unknown[]): Promise<T[]>;
  get<T>(sql: string, ...values: unknown[]): Promise<T | undefined>;
}
