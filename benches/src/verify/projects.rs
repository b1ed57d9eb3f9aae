//! Small projects whose tests take five seconds.

/// A project to verify.
pub(super) struct Project {
    pub(super) name: &'static str,
    pub(super) tools: &'static [&'static str],
    /// Writes it into an empty folder.
    pub(super) make: &'static str,
    /// Changes it.
    pub(super) change: &'static str,
}

pub(super) const ALL: [Project; 4] = [
    Project {
        name: "Cargo",
        tools: &["cargo"],
        make: r#"mkdir src && echo target > .gitignore && printf '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2024"\n' > Cargo.toml && printf 'pub fn one() -> u32 { 1 }\n#[test]\nfn slow() { std::thread::sleep(std::time::Duration::from_secs(5)); assert_eq!(one(), 1); }\n' > src/lib.rs && cargo generate-lockfile --offline -q"#,
        change: "echo '// changed' >> src/lib.rs",
    },
    Project {
        name: "npm",
        tools: &["npm"],
        make: r#"echo node_modules > .gitignore && printf '{"name": "p", "version": "1.0.0", "scripts": {"test": "node --test"}}' > package.json && printf 'exports.one = () => 1;' > index.js && printf "const {test} = require('node:test');\ntest('slow', () => new Promise(done => setTimeout(done, 5000)));\n" > p.test.js && npm install --package-lock-only --silent --offline"#,
        change: "echo '// changed' >> index.js",
    },
    Project {
        name: "uv",
        tools: &["uv"],
        make: r#"printf '.venv\n__pycache__\n.pytest_cache\n' > .gitignore && printf '[project]\nname = "p"\nversion = "0.1.0"\nrequires-python = ">=3.8"\n[dependency-groups]\ndev = ["pytest"]\n' > pyproject.toml && printf 'def one():\n    return 1\n' > p.py && printf 'import time\nimport p\ndef test_slow():\n    time.sleep(5)\n    assert p.one() == 1\n' > test_p.py && uv lock -q && uv sync -q"#,
        change: "echo '# changed' >> p.py",
    },
    Project {
        name: "Go",
        tools: &["go"],
        make: r#"printf 'module p\n\ngo 1.18\n' > go.mod && printf 'package p\n\nfunc One() int { return 1 }\n' > p.go && printf 'package p\n\nimport (\n\t"testing"\n\t"time"\n)\n\nfunc TestSlow(t *testing.T) {\n\ttime.Sleep(5 * time.Second)\n\tif One() != 1 {\n\t\tt.Fatal()\n\t}\n}\n' > p_test.go"#,
        change: "echo '// changed' >> p.go",
    },
];
