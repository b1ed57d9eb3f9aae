-- Webhook deliveries that were taken. The oldest go once there are many.
CREATE TABLE webhook_deliveries (
    id       TEXT PRIMARY KEY,
    taken_at TEXT NOT NULL
) STRICT;
