//! Links an unoptimised `drive` at a fixed address.

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a build script talks to cargo on its output and in its environment"
)]

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Each start would move over a hundred thousand addresses first, and the tests start it some ten
    // thousand times. A program for users is loaded anywhere.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo:rustc-link-arg-bin=drive=-no-pie");
    }
}
