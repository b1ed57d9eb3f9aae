//! Tests the published JSON Schema of the verification envelope.

const PUBLISHED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../schemas/verification.schema.json"
);

#[test]
fn the_published_schema_is_the_one_of_the_types() {
    let published = std::fs::read_to_string(PUBLISHED).unwrap();
    assert_eq!(
        published,
        drive_core::verify::json_schema(),
        "renew it: cargo test -p drive-core --test it -- --ignored verification_schema::"
    );
}

#[test]
#[ignore = "renews the published file"]
fn write_the_schema() {
    std::fs::write(PUBLISHED, drive_core::verify::json_schema()).unwrap();
}
