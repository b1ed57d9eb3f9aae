//! The programs that detectors run, with advice on how to install them.

/// Every program that a detector runs by name, with installation advice in one line.
const PROGRAMS: [(&str, &str); 20] = [
    ("cargo", "install Rust with rustup: https://rustup.rs"),
    (
        "npm",
        "install Node.js, which brings npm: https://nodejs.org, or `apt-get install npm`",
    ),
    (
        "npx",
        "install Node.js, which brings npx: https://nodejs.org, or `apt-get install npm`",
    ),
    ("pnpm", "run `npm install -g pnpm`, or `corepack enable`"),
    ("yarn", "run `npm install -g yarn`, or `corepack enable`"),
    ("bun", "run `npm install -g bun`, or see https://bun.sh"),
    (
        "go",
        "install Go: https://go.dev/dl, or `apt-get install golang-go`",
    ),
    (
        "python3",
        "install Python: https://python.org, or `apt-get install python3 python3-venv`",
    ),
    (
        "uv",
        "run `pipx install uv`, or see https://docs.astral.sh/uv",
    ),
    ("poetry", "run `pipx install poetry`"),
    ("pdm", "run `pipx install pdm`"),
    ("hatch", "run `pipx install hatch`"),
    (
        "make",
        "install make: `apt-get install make`, or the Xcode command line tools on macOS",
    ),
    (
        "cmake",
        "install CMake with CTest: https://cmake.org/download, or `apt-get install cmake`",
    ),
    (
        "ctest",
        "install CMake with CTest: https://cmake.org/download, or `apt-get install cmake`",
    ),
    (
        "mvn",
        "install Maven: https://maven.apache.org, or `apt-get install maven`; or commit its wrapper `mvnw`",
    ),
    (
        "gradle",
        "install Gradle: https://gradle.org/install; or commit its wrapper `gradlew`",
    ),
    (
        "bundle",
        "install Ruby with Bundler: `apt-get install ruby bundler`, or `gem install bundler`",
    ),
    (
        "composer",
        "install PHP with Composer: https://getcomposer.org, or `apt-get install composer`",
    ),
    ("dotnet", "install the .NET SDK: https://dot.net"),
];

/// The programs to search for.
pub fn programs() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|(name, _)| *name)
}

/// The installation advice for a program, in one line.
pub fn install_hint(program: &str) -> Option<&'static str> {
    PROGRAMS
        .iter()
        .find(|(name, _)| *name == program)
        .map(|(_, hint)| *hint)
}
