use super::command::Wanted;
use crate::verify::envelope::StageName;

/// A PHP project with a `composer.json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhpProject {
    /// Whether it needs packages besides PHP and its extensions.
    pub has_needs: bool,
    /// What runs its tests, when it has some.
    pub runner: Option<PhpRunner>,
}

/// What runs the tests of a PHP project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhpRunner {
    /// The script `test` of Composer.
    Script,
    /// The PHPUnit runner.
    Phpunit,
}

impl PhpProject {
    pub(super) fn wanted(&self) -> Vec<Wanted> {
        let install = ["composer", "install", "--no-interaction", "--no-progress"];
        let tests: Option<&[&str]> = self.runner.map(|runner| match runner {
            PhpRunner::Script => &["composer", "run-script", "test"][..],
            PhpRunner::Phpunit => &["vendor/bin/phpunit"],
        });
        let mut wanted = Vec::new();
        if self.has_needs {
            wanted.push(Wanted::install(&install));
        }
        wanted.extend(tests.map(|argv| Wanted::new(StageName::TargetedTests, argv)));
        // Composer warns where it runs as root, and asks.
        let quiet = |wanted: Wanted| wanted.env("COMPOSER_ALLOW_SUPERUSER", "1");
        wanted.into_iter().map(quiet).collect()
    }
}

/// Whether a requirement is a package: not PHP itself, an extension or a library of the system.
pub fn is_php_package(name: &str) -> bool {
    name.contains('/')
}
