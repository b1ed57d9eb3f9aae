//! Isolation of an agent: its program, tools and caches, and the paths and hosts that the kernel allows it.

use super::confine::{Confined, isolation};
use super::home::AgentFolders;
use super::locate::{Program, find};
use super::runner::AnyAgent;
use crate::environment::PATH;
use crate::{caches, tool_paths};
use drive_core::network::Reach;
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{AgentRequest, Isolation, IsolationMode, LayeredFolder};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

impl AnyAgent {
    pub(super) fn isolation(
        &self,
        request: &AgentRequest,
        folders: &AgentFolders,
        readable: Vec<PathBuf>,
        layered: Vec<LayeredFolder>,
        reach: Reach,
    ) -> Isolation {
        let real_home = self.real_home();
        isolation(&Confined {
            role: request.role,
            mode: request.isolation,
            sandbox: Some(&request.sandbox),
            git_dir: request.git_dir.as_deref(),
            real_home: real_home.as_deref(),
            state: &self.host.state,
            held: &request.held,
            keys: &self.host.hidden,
            folders,
            readable,
            layered,
            network: self.config.network,
            reach,
        })
    }

    /// The caches of package managers that it uses.
    pub(super) fn caches(
        &self,
        request: &AgentRequest,
        folders: &AgentFolders,
        env: &BTreeMap<OsString, OsString>,
    ) -> Vec<LayeredFolder> {
        let real_home = self.real_home();
        let Some(real_home) = real_home.filter(|_| request.isolation != IsolationMode::Off) else {
            return Vec::new();
        };
        let own = |name: &str| env.get(OsStr::new(name)).map(PathBuf::from);
        caches::find(&caches::Wanted {
            real_home: &real_home,
            users: &|name| self.host.environment.absolute_path(name),
            home: &folders.home,
            own: &|name| own(name).filter(|path| path.is_absolute()),
            shared: &self.config.home,
            state: &self.host.state,
            layers: &folders.layers,
        })
    }

    pub(super) fn program(
        &self,
        env: &BTreeMap<OsString, OsString>,
    ) -> Result<(Program, Vec<OsString>), Problem> {
        let (command, args) = self.config.command_line().ok_or_else(|| {
            Problem::new(
                Kind::AgentWithoutCommand,
                format!("agent `{}` has no command", self.name),
            )
        })?;
        let search = env
            .get(OsStr::new("PATH"))
            .map_or(OsStr::new(""), |path| path);
        let found = find(&self.name, &command, search, &self.host.base)?;
        // Arguments in the settings belong to the program that the settings name.
        let program = if args.is_empty() {
            self.recipe.native(found)
        } else {
            found
        };
        Ok((program, args.into_iter().map(OsString::from).collect()))
    }

    /// The program, and the programs that the search path, its arguments and passed variables name.
    pub(super) fn tools(
        &self,
        program: &Program,
        args: &[OsString],
        env: &BTreeMap<OsString, OsString>,
        home: Option<&Path>,
    ) -> Vec<PathBuf> {
        let search = self.host.environment.get(PATH).unwrap_or_default();
        let mut tools = tool_paths::of_search_path(search, home);
        tools.push(tool_paths::of_program(&program.root, &program.path, home));
        let is_mentionable = |path: &Path| tool_paths::is_mentionable(path, home, &self.host.state);
        let listed = |name: &OsStr| self.config.env.iter().any(|one| name == one.as_str());
        let (listed, usual): (Vec<_>, Vec<_>) = env.iter().partition(|(name, _)| listed(name));
        let mentioned = args
            .iter()
            .chain(listed.into_iter().map(|(_, value)| value));
        tools.extend(
            mentioned
                .map(PathBuf::from)
                .filter(|path| is_mentionable(path)),
        );
        let usual = usual.into_iter().map(|(_, value)| PathBuf::from(value));
        tools.extend(usual.filter(|path| tool_paths::is_narrow(path, home)));
        // A script that an interpreter runs is a program too, and may need the files next to it.
        let script = args.first().map(Path::new);
        let script = script.filter(|path| path.is_file() && is_mentionable(path));
        let folder = script.and_then(|script| Some((script.parent()?, script)));
        tools.extend(folder.map(|(root, script)| tool_paths::of_program(root, script, home)));
        tools
    }
}
