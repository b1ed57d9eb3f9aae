export interface Comment {
  id: number;
  body: string;
}

export interface Database {
  all<T>(sql: string, ...values: unknown[]): Promise<T[]>;
}

export async function comments(db: Database, post: number): Promise<Comment[]> {
  return db.all<Comment>("SELECT id, body FROM comments WHERE post_id = ? ORDER BY id", post);
}
