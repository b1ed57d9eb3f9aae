use super::command::Wanted;
use crate::verify::envelope::StageName;

/// A Ruby project with a Gemfile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RubyProject {
    /// Whether `Gemfile.lock` is tracked.
    pub locked: bool,
    /// The runner of its tests, if it has tests.
    pub runner: Option<RubyRunner>,
}

/// The runner of a Ruby project's tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RubyRunner {
    /// The RSpec runner.
    Rspec,
    /// Rake's task `test`.
    Rake,
}

impl RubyRunner {
    /// The runner that these files and this Rakefile indicate.
    pub fn detect(files: &[String], rakefile: Option<&str>) -> Option<Self> {
        if files.iter().any(|file| file.ends_with("_spec.rb")) {
            return Some(RubyRunner::Rspec);
        }
        let text = rakefile.unwrap_or_default();
        let names = [
            "TestTask",
            "task :test",
            "task test",
            "task(:test",
            "load_tasks",
        ];
        let has_task = names.iter().any(|name| text.contains(name));
        has_task.then_some(RubyRunner::Rake)
    }
}

impl RubyProject {
    pub(super) fn wanted(&self) -> Vec<Wanted> {
        let mut wanted = vec![Wanted::install(&["bundle", "install"])];
        let tests: Option<&[&str]> = self.runner.map(|runner| match runner {
            RubyRunner::Rspec => &["bundle", "exec", "rspec"][..],
            RubyRunner::Rake => &["bundle", "exec", "rake", "test"],
        });
        wanted.extend(tests.map(|argv| Wanted::new(StageName::TargetedTests, argv)));
        let frozen = if self.locked { "true" } else { "false" };
        let in_workspace = |wanted: Wanted| {
            wanted
                .env("BUNDLE_PATH", "vendor/bundle")
                .env("BUNDLE_FROZEN", frozen)
        };
        wanted.into_iter().map(in_workspace).collect()
    }
}
