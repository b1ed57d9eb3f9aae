//! Tests what codex's own sandbox allows its tools if it may write.

use crate::agent_clis::bare::Bench;
use drive_testkit::interop::{AgentHome, Cli};
use drive_testkit::model_server::{ModelServer, Script, Turn};

#[test]
fn codex_may_write_its_folder_and_all_of_tmp_but_not_its_repository_and_has_no_network() {
    let home = AgentHome::new().unwrap();
    if !home.root().starts_with("/tmp") {
        eprintln!("skipped: the temporary folder is not `/tmp`");
        return;
    }
    std::fs::create_dir(home.work().join(".git")).unwrap();
    let elsewhere = ModelServer::start(Script::default()).unwrap();
    let address = elsewhere.address();
    let script = Script::new([
        Turn::run("touch written.txt"),
        Turn::run("touch .git/written.txt"),
        // The home is private, but it is below `/tmp`.
        Turn::run("touch $HOME/written.txt"),
        Turn::run(format!(
            "exec 3<>/dev/tcp/{}/{} && touch reached.txt",
            address.ip(),
            address.port()
        )),
    ]);
    let Some(bench) = Bench::with_home(Cli::Codex, home, script) else {
        return;
    };
    let ran = bench.run(&bench.coder(), b"try it");
    let exists = |path: &str| bench.home.work().join(path).exists();
    assert_eq!(
        (
            ran.code(),
            exists("written.txt"),
            exists(".git/written.txt"),
            exists("../home/written.txt"),
            exists("reached.txt"),
        ),
        (0, true, false, true, false),
        "{:#?}",
        bench.server.turns().last().map(|turn| &turn.tool_results)
    );
}
