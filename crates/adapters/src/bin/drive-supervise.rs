//! The process helper as its own binary, for this crate's tests. The `drive` binary contains the
//! same code.

fn main() {
    drive_adapters::process::supervise_if_asked();
}
