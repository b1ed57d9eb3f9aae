//! The helper alone, for this crate's own tests: the `drive` binary carries the same code.

fn main() {
    drive_adapters::process::supervise_if_asked();
}
