//! Oracles that somebody else installed: an image run by a stand-in engine, and a server that already runs.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use oracles::launch::{LaunchError, LaunchSettings, launch};
use oracles::registry::{OracleSpec, Standing};
use oracles::verbs::{CompletionRequest, Oracle};
use oracles::{Error, Progress, provision};

use crate::fixture::{Place, example, workspace};
use crate::venv::{executable, folder};

const VLLM: &str = include_str!("stand_ins/vllm.py");
const DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A docker that knows one image once it was pulled, and runs its program right here.
const DOCKER: &str = r#"#!/bin/sh
state="$(dirname "$0")"
echo "$@" >> "$state/calls"
case $1 in
--version) echo "Docker version 99.0" ;;
image) cat "$state/pulled" 2>/dev/null || { echo "Error: No such image: $3" >&2; exit 1; } ;;
pull)
    [ ! -f "$state/offline" ] || { echo "Error: network is unreachable" >&2; exit 1; }
    echo "[{\"Id\": \"sha256:1d\", \"RepoDigests\": [\"r/i@sha256:$(cat "$state/digest")\"]}]" > "$state/pulled" ;;
run)
    while [ "$1" != --entrypoint ]; do
        if [ "$1" = --env ]; then export "$2"; fi
        shift
    done
    program=$2
    shift 3
    exec "$program" "$@" ;;
rm) ;;
esac
"#;

/// A home with an oracle of an image, a checkpoint, and a folder for PATH with the engine.
struct Engine {
    place: Place,
    bin: PathBuf,
}

impl Engine {
    fn new() -> Self {
        let place = Place::new();
        let registry = place.home.registry_dir();
        fs::create_dir_all(&registry).unwrap();
        let site = place.dir.path().join("image");
        fs::create_dir_all(&site).unwrap();
        fs::write(site.join("stand_in_vllm.py"), VLLM).unwrap();
        let toml = format!(
            "summary = 'x'\nlicence = 'MIT'\nrole = 'x'\nscope = ['tokens']\ndevice = 'cpu'\n\
             [gateable]\nanswer = 'no'\ndebt = 'x'\n\
             [package]\nindex = 'oci'\nname = 'r/i'\nversion = '1.0'\narchive = 'v1'\narchive-sha256 = '{DIGEST}'\n\
             [container]\nengines = ['docker']\ninterpreter = 'python3'\n\
             [launch]\nprotocol = 'vllm'\nexecutable = 'stand_in_vllm'\narguments = []\n\
             environment = {{ PYTHONPATH = '{}' }}\n",
            site.display()
        );
        fs::write(registry.join("image.toml"), toml).unwrap();
        for file in ["open-gaps.toml", "Cargo.toml"] {
            fs::write(place.home.root.join(file), "").unwrap();
        }
        let tiny = "oracles/checkpoints/synthetic-llama-tiny.toml";
        fs::copy(workspace().join(tiny), place.home.root.join(tiny)).unwrap();
        let bin = place.dir.path().join("bin");
        executable(&bin.join("docker"), DOCKER);
        fs::write(bin.join("digest"), DIGEST).unwrap();
        Self { place, bin }
    }

    /// `ask` with the engine first on PATH.
    fn ask(&self) -> Output {
        // The stand-in's own programs are in these folders, the machine's engines are not before it.
        let path = format!("{}:/usr/bin:/bin", self.bin.display());
        self.command().env("PATH", path).output().unwrap()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(example("ask"));
        command
            .args(["image", "synthetic-llama-tiny", "1,2", "2", "0"])
            .current_dir(&self.place.home.root)
            .env("XDG_CACHE_HOME", self.place.dir.path().join("xdg"));
        command
    }

    fn failure(&self) -> String {
        let output = self.ask();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.bin.join("calls")).unwrap_or_default()
    }
}

#[test]
fn an_image_is_pulled_once_by_its_digest_and_never_at_a_launch() {
    let engine = Engine::new();
    fs::write(engine.bin.join("offline"), "").unwrap();
    let error = engine.failure();
    assert!(error.contains("network is unreachable"), "{error}");
    fs::remove_file(engine.bin.join("offline")).unwrap();

    let output = engine.ask();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
    assert!(out.contains(r#""image_id": "sha256:1d""#) && out.contains(r#""ids":[2,2]"#), "{out}");
    let calls = engine.calls();
    let run = calls.lines().find(|line| line.starts_with("run ")).unwrap();
    assert!(run.starts_with("run --rm --pull=never --network=host"), "{run}");
    assert!(
        run.contains(&format!("--entrypoint python3 r/i@sha256:{DIGEST} -m stand_in_vllm")),
        "{run}"
    );
    assert!(calls.lines().last().unwrap().starts_with("rm --force plumbline-image-"), "{calls}");

    // The image is lost: it is told, and not fetched behind our back.
    let pulls = |calls: &str| calls.lines().filter(|line| line.starts_with("pull ")).count();
    let before = pulls(&engine.calls());
    fs::remove_file(engine.bin.join("pulled")).unwrap();
    let error = engine.failure();
    assert!(error.contains("No such image"), "{error}");
    assert_eq!(pulls(&engine.calls()), before);
}

#[test]
fn an_image_of_another_digest_is_refused() {
    let engine = Engine::new();
    fs::write(engine.bin.join("digest"), DIGEST.replace('e', "f")).unwrap();
    let error = engine.failure();
    assert!(error.contains(DIGEST) && error.contains("Image"), "{error}");
    assert!(!engine.calls().contains("run "));
}

#[test]
fn an_engine_that_is_missing_is_named() {
    let engine = Engine::new();
    let output = engine.command().env("PATH", engine.place.dir.path()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("NoEngine"), "{error}");
}

/// A server that is not ours.
struct Foreign(Child);

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn attached(place: &Place, extra: &str) -> (Foreign, OracleSpec) {
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let script = place.dir.path().join("vllm.py");
    fs::write(&script, VLLM).unwrap();
    let child = Command::new("python3")
        .arg(&script)
        .args(["--served-model-name", "m", "--max-num-seqs", "1", "--dtype", "bfloat16"])
        .args(["--max-model-len", "99", "--port", &port.to_string(), "--stand-in", extra])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let registry = place.home.registry_dir();
    fs::create_dir_all(&registry).unwrap();
    let toml = format!(
        "summary = 'x'\nlicence = 'MIT'\nrole = 'x'\nscope = ['tokens']\ndevice = 'cpu'\n\
         [gateable]\nanswer = 'no'\ndebt = 'x'\n[package]\nindex = 'none'\nname = 'vllm'\nversion = '1.0'\n\
         [attach]\nurl = 'http://127.0.0.1:{port}'\nmodel = 'm'\n\
         [launch]\nprotocol = 'vllm'\nexecutable = 'x'\narguments = []\nenvironment = {{}}\n"
    );
    fs::write(registry.join("it.toml"), toml).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    (Foreign(child), OracleSpec::load(&place.home, "it").unwrap())
}

#[test]
fn an_attached_server_answers_and_never_binds() {
    let place = Place::new();
    let (_foreign, spec) = attached(&place, "");
    assert_eq!(spec.declared.standing(), Standing::Directional);
    let oracle = provision::provisioned(&place.home, &spec, Progress::Silent).unwrap().unwrap();
    let start = |settings: &LaunchSettings| {
        launch(&place.home, &oracle, &folder(&place), settings, Progress::Silent)
    };
    let mut server = start(&LaunchSettings::default()).unwrap();
    assert_eq!(server.process_id(), None);
    let identity = server.identity();
    assert_eq!((identity.version.as_str(), identity.source_sha256.as_str()), ("1.0", ""));
    assert!(identity.settings["attached"].starts_with("http://127.0.0.1:"));
    assert_eq!(identity.settings["n_ctx"], "99");
    let request = CompletionRequest {
        prompt_ids: vec![1],
        max_tokens: 2,
        top_logprobs: 0,
        ignore_eos: false,
    };
    assert_eq!(server.complete(&request).unwrap().ids, [2, 2]);
    // Whether it is compiled is not known, so it is not what runs in production.
    let error = start(&LaunchSettings { production: true, ..LaunchSettings::default() });
    assert!(
        matches!(&error, Err(Error::Launch(LaunchError::NotProduction { found, .. })) if found == "unknown"),
        "{error:?}"
    );
}

#[test]
fn an_attached_server_of_another_version_is_refused() {
    let place = Place::new();
    let (_foreign, spec) = attached(&place, "version");
    let oracle = provision::provisioned(&place.home, &spec, Progress::Silent).unwrap().unwrap();
    let settings = LaunchSettings::default();
    let error = launch(&place.home, &oracle, &folder(&place), &settings, Progress::Silent);
    assert!(
        matches!(&error, Err(Error::Launch(LaunchError::Contradiction { key, .. })) if key == "version"),
        "{error:?}"
    );
}
