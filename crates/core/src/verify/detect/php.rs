use super::command::Wanted;
use crate::verify::envelope::StageName;

/// A PHP project with a `composer.json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhpProject {
    /// Whether it needs packages other than PHP and its extensions.
    pub has_needs: bool,
    /// The runner of its tests, if it has tests.
    pub runner: Option<PhpRunner>,
}

/// The runner of a PHP project's tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhpRunner {
    /// Composer's script `test`.
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
        // As root, Composer warns and asks for confirmation.
        let quiet = |wanted: Wanted| wanted.env("COMPOSER_ALLOW_SUPERUSER", "1");
        wanted.into_iter().map(quiet).collect()
    }
}

/// Whether a requirement is a package, and not PHP itself, an extension or a system library.
pub fn is_php_package(name: &str) -> bool {
    name.contains('/')
}
