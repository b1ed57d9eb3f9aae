//! Tests that commits are signed with the user's key, which no agent sees.

use crate::spawn::support::{Ended, World, text, wait_for};
use std::process::{Child, Stdio};

/// A key agent that ends with the test.
struct KeyAgent(Child);

impl Drop for KeyAgent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes the user's git sign with an ssh key.
fn sign_by(world: &World, passphrase: &str) {
    world.shell(&format!(
        "mkdir home/.ssh && ssh-keygen -q -t ed25519 -N '{passphrase}' -C ann -f home/.ssh/id
         (printf '* '; cat home/.ssh/id.pub) > home/.ssh/signers
         git config --global user.name Ann
         git config --global user.email ann@example.org
         git config --global gpg.format ssh
         git config --global user.signingkey '~/.ssh/id.pub'
         git config --global gpg.ssh.allowedSignersFile '~/.ssh/signers'
         git config --global commit.gpgsign true"
    ));
}

#[test]
fn what_an_agent_commits_is_signed_by_a_key_agent_that_it_cannot_reach() {
    let world = World::with_agent("");
    sign_by(&world, "");
    let (key, socket) = (world.path("home/.ssh/id"), world.path("agent.sock"));
    let held = KeyAgent(
        world
            .command("ssh-agent")
            .arg("-D")
            .arg("-a")
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    wait_for("the key agent", || socket.exists());
    let socket = socket.to_str().unwrap();
    world.shell(&format!(
        "SSH_AUTH_SOCK={socket} ssh-add -q home/.ssh/id && mv home/.ssh/id home/.ssh/kept"
    ));
    world.program(
        "script",
        &format!(
            "cat > /dev/null
             cat {key} home/.ssh/kept > stolen.txt 2> /dev/null
             printf '%s' \"$SSH_AUTH_SOCK\" >> stolen.txt
             test -e {socket} && echo seen >> stolen.txt
             SSH_AUTH_SOCK={socket} ssh-add -L >> stolen.txt 2> /dev/null
             echo work > work.txt && git add work.txt stolen.txt
             git commit -qm 'By the agent' && echo left > left.txt",
            key = key.display()
        ),
    );
    let output = world
        .drive_command(&["spawn", "Work", "--json"])
        .env("SSH_AUTH_SOCK", socket)
        .output()
        .unwrap();
    drop(held);
    let ended = Ended::from(output);
    let run = ended.run();
    assert_eq!(ended.code, Some(0), "{run:#}");
    let branch = text(&run["branch"]);
    assert_eq!(world.git(&format!("show {branch}:stolen.txt")), "");
    let commits = world.git(&format!("rev-list main..{branch}"));
    assert_eq!(commits.lines().count(), 2, "{run:#}");
    for commit in commits.lines() {
        world.git(&format!("verify-commit {commit}"));
    }
    world.assert_nothing_is_left();
}

#[test]
fn a_key_with_a_passphrase_stops_the_run_before_its_agent_starts() {
    let world = World::with_agent("echo work > work.txt");
    sign_by(&world, "secret");
    let ended = world.drive(&["spawn", "Work", "--json"]);
    let (code, kind) = ended.failure();
    assert_eq!(
        (code, kind.as_str()),
        (Some(3), "signingFailed"),
        "{ended:?}"
    );
    let log = world.drive(&["runs", "logs"]);
    assert!(!log.stdout.contains("work"), "{log:?}");
    assert_eq!(world.branches(), Vec::<String>::new());
}
