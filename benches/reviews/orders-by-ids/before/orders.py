"""Orders of the shop."""


def by_id(connection, order_id):
    row = connection.execute("SELECT id, customer, cents FROM orders WHERE id = ?", (order_id,)).fetchone()
    return None if row is None else as_order(row)


def as_order(row):
    return {"id": row[0], "customer": row[1], "cents": row[2]}
