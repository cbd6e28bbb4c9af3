//! Installing a `[venv]` and running what it holds, with stand-ins for uv, the driver and vLLM's server.
//!
//! The interpreter is the machine's own `python3`; nothing is fetched.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use oracles::checkpoint::Checkpoint;
use oracles::digest::sha256_bytes;
use oracles::launch::{Dtype, LaunchError, LaunchSettings, Server, launch};
use oracles::provision::{self, ProvisionError, Provisioned, Python};
use oracles::registry::OracleSpec;
use oracles::verbs::{CompletionRequest, Message, Oracle, VerbError};
use oracles::{Error, Progress};

use crate::fixture::Place;

const DRIVER: &str = include_str!("stand_ins/driver.py");
const VLLM: &str = include_str!("stand_ins/vllm.py");
const SGLANG: &str = include_str!("stand_ins/sglang.py");
const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The minor version of the machine's `python3`.
fn minor() -> String {
    let output = Command::new("python3")
        .args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(crate) fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The registry file and the lock of an oracle named `stand-in`.
fn declare(place: &Place, launch: &str) -> OracleSpec {
    let registry = place.home.registry_dir();
    fs::create_dir_all(&registry).unwrap();
    let toml = format!(
        "summary = 'x'\nlicence = 'MIT'\nrole = 'x'\nscope = ['tokens']\ndevice = 'cpu'\n\
         [gateable]\nanswer = 'no'\ndebt = 'x'\n\
         [package]\nindex = 'pypi'\nname = 'stand-in'\nversion = '1.0'\narchive = 'x.whl'\narchive-sha256 = '{HASH}'\n\
         [venv]\npython = '{}'\ntools = {{ uv = '0.0.0' }}\n[launch]\n{launch}\n",
        minor()
    );
    fs::write(registry.join("stand-in.toml"), toml).unwrap();
    fs::write(registry.join("stand-in.lock.txt"), format!("stand-in==1.0 --hash=sha256:{HASH}\n"))
        .unwrap();
    OracleSpec::load(&place.home, "stand-in").unwrap()
}

const AS_DRIVER: &str = "protocol = 'driver'\nexecutable = 'driver.py'\narguments = []\ncpu-features = ['AVX2']\n\
                         environment = { STATE = '{state}', SITE = '{site}' }\nsettings = { attention = 'eager' }";
const AS_VLLM: &str = "protocol = 'vllm'\nexecutable = 'stand_in_vllm'\narguments = []\nenvironment = {}\n\
                       settings = { attention_backend = 'CPU_ATTN' }";

/// A uv that does what `script` says where the lock and the target are `$lock` and `$site`.
fn install_uv(place: &Place, script: &str) {
    let hash = sha256_bytes(b"uv==0.0.0");
    let dir = place.home.cache.join("tools").join(format!("build-{}", &hash[..12]));
    let parse = "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --target) site=$2;; --requirement) lock=$2;; esac; shift; done\n";
    executable(&dir.join("bin/uv"), &format!("{parse}{script}\n"));
    fs::write(dir.join("whole"), "").unwrap();
}

/// What a good installation of the lock looks like.
fn good_uv(place: &Place) {
    let source = |name: &str, text: &str| {
        let path = place.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (vllm, sglang) = (source("vllm.py", VLLM), source("sglang.py", SGLANG));
    let script = format!(
        "mkdir -p $site/pkg; echo 'X = 1' > $site/pkg/__init__.py; echo data > $site/pkg/data.bin; \
         cp {vllm} $site/stand_in_vllm.py; cp {sglang} $site/stand_in_sglang.py; echo 'Installed 1 package'"
    );
    install_uv(place, &script);
}

pub(crate) fn provisioned(place: &Place, launch: &str) -> Provisioned {
    let spec = declare(place, launch);
    good_uv(place);
    let drivers = place.home.root.join("oracles/drivers");
    fs::create_dir_all(&drivers).unwrap();
    fs::write(drivers.join("driver.py"), DRIVER).unwrap();
    provision::provision(&place.home, &spec, Progress::Silent).unwrap()
}

pub(crate) fn folder(place: &Place) -> Checkpoint {
    let path = place.dir.path().join("checkpoint");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("config.json"), r#"{"vocab_size": 3}"#).unwrap();
    Checkpoint { name: "model".to_owned(), path, sha256: String::new(), bytes: 0 }
}

pub(crate) fn settings(fault: &str) -> LaunchSettings {
    LaunchSettings {
        arguments: vec!["--stand-in".to_owned(), fault.to_owned()],
        ready_timeout: Duration::from_secs(30),
        request_timeout: Duration::from_secs(30),
        ..LaunchSettings::default()
    }
}

pub(crate) fn start(
    place: &Place,
    oracle: &Provisioned,
    settings: &LaunchSettings,
) -> oracles::Result<Server> {
    launch(&place.home, oracle, &folder(place), settings, Progress::Silent)
}

pub(crate) fn failed(
    place: &Place,
    oracle: &Provisioned,
    settings: &LaunchSettings,
) -> LaunchError {
    match start(place, oracle, settings) {
        Err(Error::Launch(error)) => error,
        other => panic!("expected a launch error, found {other:?}"),
    }
}

fn request() -> CompletionRequest {
    CompletionRequest { prompt_ids: vec![1], max_tokens: 2, top_logprobs: 0, ignore_eos: false }
}

#[test]
fn an_interpreter_of_another_version_is_told_apart() {
    let place = Place::new();
    let candidate = |folder: &str| place.dir.path().join(folder).join("python9.99");
    let find = |folders: &[&str]| Python::find_among("9.99", folders.iter().map(|f| candidate(f)));
    let error = find(&[]).unwrap_err();
    assert!(
        matches!(&error, ProvisionError::NoPython { wanted, found } if wanted == "9.99" && found == "none"),
        "{error}"
    );
    // No file, a name that answers only when its version is selected, and another version.
    executable(&candidate("shim"), "#!/bin/sh\necho 'command not found' >&2; exit 127\n");
    executable(&candidate("other"), "#!/bin/sh\necho /x; echo 9.9.9\n");
    let error = find(&["empty", "shim", "other"]).unwrap_err().to_string();
    for part in ["empty/python9.99: No such file", "shim/python9.99 does not run", "is 9.9.9"] {
        assert!(error.contains(part), "{error}");
    }
    executable(&candidate("right"), "#!/bin/sh\necho /real/python; echo 9.99.1\n");
    let python = find(&["shim", "other", "right"]).unwrap();
    assert_eq!(python, Python { path: "/real/python".into(), version: "9.99.1".to_owned() });
    // By PATH, where no such version is.
    assert!(Python::find("9.99").is_err());
}

#[test]
fn an_installation_is_whole_or_not_there() {
    let place = Place::new();
    let spec = declare(&place, AS_DRIVER);
    let provision = || provision::provision(&place.home, &spec, Progress::Silent);
    let cases = [
        ("echo 'hash mismatch: a.whl' >&2; exit 1", "exit status: 1", "hash mismatch: a.whl"),
        // Killed in the middle of its work.
        (
            "mkdir -p $site/half; echo x > $site/half/file; echo 'half done'; kill -9 $$",
            "signal: 9",
            "half done",
        ),
    ];
    for (script, expected, said) in cases {
        install_uv(&place, script);
        match provision().unwrap_err() {
            Error::Provision(ProvisionError::Step { status, tail, .. }) => {
                assert!(status.contains(expected) && tail.ends_with(said), "{status}: {tail}");
            }
            other => panic!("{other}"),
        }
        assert!(provision::installed(&place.home, &spec).is_none());
    }
    good_uv(&place);
    let oracle = provision().unwrap();
    let names: Vec<&str> = oracle.manifest.files.iter().map(|file| file.path.as_str()).collect();
    assert!(
        names.contains(&"site/pkg/data.bin") && !names.iter().any(|name| name.contains("half"))
    );
    // Compiled once, and listed like every other file.
    assert!(
        names.iter().any(|name| name.starts_with("site/pkg/__pycache__/__init__")),
        "{names:?}"
    );
    assert_eq!(oracle.manifest.tools["uv"], "0.0.0");
    assert!(!place.cached().iter().any(|path| path.contains(".work")), "{:?}", place.cached());
    // It is there: nothing is installed again.
    install_uv(&place, "exit 1");
    assert_eq!(provision().unwrap(), oracle);
    // Another lock is another installation.
    let lock = place.home.registry_dir().join("stand-in.lock.txt");
    fs::write(&lock, format!("{}# more\n", fs::read_to_string(&lock).unwrap())).unwrap();
    let moved = OracleSpec::load(&place.home, "stand-in").unwrap();
    assert!(provision::installed(&place.home, &moved).is_none());
}

#[test]
fn what_is_omitted_is_not_installed() {
    let place = Place::new();
    let spec = |omit: &str| {
        let mut spec = declare(&place, AS_DRIVER);
        spec.declared.venv.as_mut().unwrap().omit = vec![omit.to_owned()];
        spec
    };
    good_uv(&place);
    let install = |spec: &OracleSpec| provision::provision(&place.home, spec, Progress::Silent);
    let error = install(&spec("pkg/*.so")).unwrap_err();
    assert!(
        matches!(&error, Error::Provision(ProvisionError::Glob { key: "venv.omit", .. })),
        "{error}"
    );
    let oracle = install(&spec("pkg/*.bin")).unwrap();
    let files = &oracle.manifest.files;
    assert!(files.iter().any(|file| file.path == "site/pkg/__init__.py"));
    assert!(!files.iter().any(|file| file.path == "site/pkg/data.bin"));
}

#[test]
fn a_changed_tree_is_not_started() {
    let place = Place::new();
    let oracle = provisioned(&place, AS_DRIVER);
    let refused = || match start(&place, &oracle, &settings("")) {
        Err(Error::Provision(error)) => error,
        other => panic!("expected a provision error, found {other:?}"),
    };
    let data = oracle.site_dir().join("pkg/data.bin");
    fs::write(&data, "datb\n").unwrap();
    let error = refused();
    assert!(matches!(&error, ProvisionError::Changed { path, .. } if *path == data), "{error}");
    fs::remove_file(&data).unwrap();
    let error = refused();
    assert!(
        matches!(&error, ProvisionError::Changed { found, .. } if found == "nothing"),
        "{error}"
    );
    fs::write(&data, "data\n").unwrap();
    let extra = oracle.site_dir().join("flash_attn.py");
    fs::write(&extra, "").unwrap();
    let error = refused();
    assert!(matches!(&error, ProvisionError::Unlisted { path, .. } if *path == extra), "{error}");
    fs::remove_file(&extra).unwrap();
    start(&place, &oracle, &settings("")).unwrap();
    // Running it wrote nothing into the tree.
    start(&place, &oracle, &settings("")).unwrap();
}

#[test]
fn a_driver_says_who_it_is_and_answers() {
    let place = Place::new();
    let oracle = provisioned(&place, AS_DRIVER);
    let mut server = start(&place, &oracle, &settings("")).unwrap();
    let identity = server.identity();
    assert_eq!((identity.name.as_str(), identity.version.as_str()), ("stand-in", "1.0"));
    assert_eq!(identity.source_sha256, HASH);
    assert_eq!(identity.build["driver_sha256"], sha256_bytes(DRIVER.as_bytes()));
    assert_eq!(identity.settings["dtype"], "bfloat16");
    assert_eq!(identity.cpu_features, ["AVX2"]);
    assert_eq!(identity.flags[..2], ["--model", "checkpoint"]);
    assert_eq!(server.tokenize("ab", false, false).unwrap(), [1, 2]);
    assert_eq!(server.detokenize(&[1, 2]).unwrap(), "ab");
    assert_eq!(server.complete(&request()).unwrap().ids, [2, 2]);
    let file = place.dir.path().join("dump");
    server.dump(&[5, 6], &file, true).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "5 6");
    let messages = [Message { role: "user".to_owned(), content: "x".to_owned() }];
    let error = server.render_chat(&messages).unwrap_err();
    assert!(
        matches!(&error, VerbError::Refused { message, .. } if message.contains("template")),
        "{error}"
    );
}

#[test]
fn a_driver_that_contradicts_its_pin_is_refused() {
    let place = Place::new();
    let oracle = provisioned(&place, AS_DRIVER);
    for (fault, expected) in
        [("version", "stand-in"), ("dtype", "dtype"), ("attention", "attention")]
    {
        match failed(&place, &oracle, &settings(fault)) {
            LaunchError::Contradiction { key, .. } => assert_eq!(key, expected),
            other => panic!("{fault}: {other}"),
        }
    }
    let error = failed(&place, &oracle, &settings("silent"));
    assert!(matches!(&error, LaunchError::Silent { key, .. } if key == "attention"), "{error}");
    let error = failed(&place, &oracle, &settings("garbage-hello"));
    assert!(matches!(&error, LaunchError::Verb(VerbError::Malformed { .. })), "{error}");
    match failed(&place, &oracle, &settings("die-at-start")) {
        LaunchError::Died { tail, .. } => assert_eq!(tail, "stand-in: no such architecture"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_driver_gives_a_whole_answer_or_none() {
    let place = Place::new();
    let oracle = provisioned(&place, AS_DRIVER);
    let ask = |settings: &LaunchSettings| {
        let mut server = start(&place, &oracle, settings).unwrap();
        let first = server.complete(&request()).unwrap_err();
        (first, server.complete(&request()))
    };
    let (error, _) = ask(&settings("die"));
    assert!(
        matches!(&error, VerbError::Died { tail, .. } if tail.ends_with("out of memory")),
        "{error}"
    );
    let (error, _) = ask(&settings("short"));
    assert!(matches!(&error, VerbError::Malformed { key, .. } if key == "ids"), "{error}");
    let (error, _) = ask(&settings("garbage"));
    assert!(matches!(&error, VerbError::Malformed { key, .. } if key == "line"), "{error}");
    let patience = Duration::from_millis(500);
    let (error, after) = ask(&LaunchSettings { request_timeout: patience, ..settings("hang") });
    assert!(
        matches!(&error, VerbError::Transport { reason, .. } if reason == "it took too long"),
        "{error}"
    );
    // The late answer must not be taken for the next one's.
    let error = after.unwrap_err();
    assert!(
        matches!(&error, VerbError::Transport { reason, .. } if reason.contains("owes")),
        "{error}"
    );
}

#[test]
fn vllm_says_who_it_is_and_answers() {
    let place = Place::new();
    let oracle = provisioned(&place, AS_VLLM);
    let settings = LaunchSettings { production: true, threads: 2, ..settings("") };
    let mut server = start(&place, &oracle, &settings).unwrap();
    let identity = server.identity();
    assert_eq!(identity.settings["version"], "1.0");
    assert_eq!(identity.settings["n_threads"], "2");
    assert_eq!(identity.settings["compilation_mode"], "DYNAMO_TRACE_ONCE");
    assert_eq!(identity.settings["kv_block_size"], "128");
    assert_eq!(server.complete(&request()).unwrap().ids, [2, 2]);
    assert_eq!(server.tokenize("ab", false, true).unwrap(), [1, 2]);
    let error = server.detokenize(&[9]).unwrap_err();
    assert!(matches!(&error, VerbError::Refused { status: 400, .. }), "{error}");
    let error = server.dump(&[1], Path::new("unwritten"), false).unwrap_err();
    assert!(matches!(&error, VerbError::Unanswerable { verb: "dump", .. }), "{error}");
}

#[test]
fn a_vllm_that_contradicts_its_pin_is_refused() {
    let place = Place::new();
    let oracle = provisioned(&place, AS_VLLM);
    let cases = [
        ("version", "version"),
        ("dtype", "dtype"),
        ("context", "n_ctx"),
        ("sequences", "max_num_seqs"),
        ("device", "device_config"),
    ];
    for (fault, expected) in cases {
        match failed(&place, &oracle, &settings(fault)) {
            LaunchError::Contradiction { key, .. } => assert_eq!(key, expected),
            other => panic!("{fault}: {other}"),
        }
    }
    let error = failed(&place, &oracle, &settings("no-backend"));
    assert!(
        matches!(&error, LaunchError::Silent { key, .. } if key == "attention_backend"),
        "{error}"
    );
    let error = failed(&place, &oracle, &settings("die-at-start"));
    assert!(matches!(&error, LaunchError::Died { .. }), "{error}");
    // Eager is an answer, and not one of production.
    start(&place, &oracle, &settings("eager")).unwrap();
    let error = failed(&place, &oracle, &LaunchSettings { production: true, ..settings("eager") });
    assert!(
        matches!(&error, LaunchError::NotProduction { key, .. } if key == "enforce_eager"),
        "{error}"
    );
    let other = LaunchSettings { dtype: Dtype::Float32, ..settings("") };
    assert_eq!(start(&place, &oracle, &other).unwrap().identity().settings["dtype"], "float32");
}

#[test]
fn a_vllm_that_dies_or_answers_another_prompt_gives_no_answer() {
    let place = Place::new();
    let oracle = provisioned(&place, AS_VLLM);
    let ask = |fault: &str| {
        start(&place, &oracle, &settings(fault)).unwrap().complete(&request()).unwrap_err()
    };
    assert!(matches!(ask("die"), VerbError::Died { .. }));
    let error = ask("prompt");
    assert!(
        matches!(&error, VerbError::Malformed { key, .. } if key == "prompt_token_ids"),
        "{error}"
    );
}

#[test]
fn a_file_is_not_a_checkpoint_of_a_python_oracle() {
    let place = Place::new();
    let oracle = provisioned(&place, AS_DRIVER);
    let checkpoint = crate::fixture::model(&place);
    let error =
        launch(&place.home, &oracle, &checkpoint, &settings(""), Progress::Silent).unwrap_err();
    assert!(matches!(error, Error::Launch(LaunchError::Checkpoint { .. })), "{error}");
}

#[test]
fn a_bundle_is_the_same_installation_elsewhere() {
    let place = Place::new();
    let oracle = provisioned(&place, AS_DRIVER);
    let carried = place.dir.path().join("carried");
    let bundle = provision::pack(&oracle, &carried, 1000, Progress::Silent).unwrap();
    assert!(bundle.parts.len() > 2 && bundle.parts.iter().all(|part| part.bytes <= 1000));
    let again = provision::pack(&oracle, &carried, 1000, Progress::Silent).unwrap_err();
    assert!(matches!(again, ProvisionError::Bundle { .. }), "{again}");

    let elsewhere =
        oracles::Home { root: place.home.root.clone(), cache: place.dir.path().join("elsewhere") };
    let unpack = || provision::unpack_bundle(&elsewhere, &carried, Progress::Silent);
    let part = carried.join(&bundle.parts[1].name);
    let good = fs::read(&part).unwrap();
    let mut bad = good.clone();
    bad[5] ^= 1;
    fs::write(&part, bad).unwrap();
    let error = unpack().unwrap_err();
    assert!(
        matches!(&error, Error::Provision(ProvisionError::Bundle { path, .. }) if *path == part),
        "{error}"
    );
    assert!(provision::installed(&elsewhere, &oracle.spec).is_none());
    fs::write(&part, good).unwrap();
    let unpacked = unpack().unwrap();
    assert_eq!(unpacked.manifest, oracle.manifest);
    assert_eq!(unpack().unwrap(), unpacked);
    let mut server =
        launch(&elsewhere, &unpacked, &folder(&place), &settings(""), Progress::Silent).unwrap();
    assert_eq!(server.complete(&request()).unwrap().ids, [2, 2]);

    // A bundle of another pin is not installed.
    let lock = place.home.registry_dir().join("stand-in.lock.txt");
    fs::write(&lock, format!("{}# more\n", fs::read_to_string(&lock).unwrap())).unwrap();
    let error = unpack().unwrap_err();
    assert!(matches!(&error, Error::Provision(ProvisionError::Bundle { .. })), "{error}");
}
