"""Customers of the shop."""


def by_id(connection, customer_id):
    row = connection.execute("SELECT id, name FROM customers WHERE id = ?", (customer_id,)).fetchone()
    return None if row is None else {"id": row[0], "name": row[1]}
