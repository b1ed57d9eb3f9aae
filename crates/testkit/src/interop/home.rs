use super::{AgentClis, Cli};
use crate::model_server::ModelServer;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The key that every CLI gets. It grants no access.
const DUMMY_KEY: &str = "dummy";
const GEMINI_SETTINGS: &str = r#"{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "privacy": {"usageStatisticsEnabled": false},
  "general": {"enableAutoUpdate": false, "maxAttempts": 2}
}
"#;

/// A private home, a temporary folder and a working folder, all removed when dropped.
#[derive(Debug)]
pub struct AgentHome {
    root: TempDir,
}

impl AgentHome {
    /// Creates the folders.
    pub fn new() -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("drive-agent-").tempdir()?;
        let made = Self { root };
        for folder in [made.home(), made.tmp(), made.work()] {
            std::fs::create_dir(folder)?;
        }
        Ok(made)
    }

    /// The parent of all the folders.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The CLI's home.
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The CLI's temporary folder.
    pub fn tmp(&self) -> PathBuf {
        self.root.path().join("tmp")
    }

    /// The CLI's working folder.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Writes the CLI's settings into the home, and returns the only variables with which it is started.
    pub fn environment(
        &self,
        cli: Cli,
        clis: &AgentClis,
        server: &ModelServer,
    ) -> io::Result<Vec<(String, String)>> {
        let url = server.base_url(cli.protocol());
        let mut variables = vec![
            ("PATH".to_owned(), clis.search_path()),
            ("HOME".to_owned(), display(&self.home())),
            ("TMPDIR".to_owned(), display(&self.tmp())),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
        ];
        let own = match cli {
            Cli::Claude => self.claude(url),
            Cli::Gemini => self.gemini(url)?,
            Cli::Codex => self.codex(&url)?,
        };
        variables.extend(
            own.into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        Ok(variables)
    }

    fn claude(&self, url: String) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            ("ANTHROPIC_BASE_URL", url),
            ("ANTHROPIC_API_KEY", DUMMY_KEY.to_owned()),
            ("CLAUDE_CODE_MAX_RETRIES", "2".to_owned()),
            ("CLAUDE_CODE_TMPDIR", display(&self.tmp())),
        ];
        let switches = [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_AUTOUPDATER",
        ];
        variables.extend(switches.map(|name| (name, "1".to_owned())));
        variables
    }

    fn gemini(&self, url: String) -> io::Result<Vec<(&'static str, String)>> {
        write(&self.home().join(".gemini/settings.json"), GEMINI_SETTINGS)?;
        Ok(vec![
            ("GOOGLE_GEMINI_BASE_URL", url),
            ("GEMINI_API_KEY", DUMMY_KEY.to_owned()),
            ("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()),
        ])
    }

    fn codex(&self, url: &str) -> io::Result<Vec<(&'static str, String)>> {
        let settings = format!(
            "model = \"{model}\"\n\
             model_provider = \"scripted\"\n\
             check_for_update_on_startup = false\n\
             [model_providers.scripted]\n\
             name = \"scripted\"\n\
             base_url = \"{url}\"\n\
             env_key = \"SCRIPTED_API_KEY\"\n\
             wire_api = \"responses\"\n\
             request_max_retries = 2\n\
             stream_max_retries = 2\n\
             [analytics]\n\
             enabled = false\n\
             [features]\n\
             plugins = false\n\
             apps = false\n",
            model = Cli::Codex.model(),
        );
        write(&self.home().join(".codex/config.toml"), &settings)?;
        Ok(vec![("SCRIPTED_API_KEY", DUMMY_KEY.to_owned())])
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "a new file in a folder nobody else knows"
    )]
    std::fs::write(path, text)
}

fn display(path: &Path) -> String {
    path.display().to_string()
}
