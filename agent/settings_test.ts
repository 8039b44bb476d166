import t from "tap";
import { denoPermissions } from "./permissions.ts";
import { agentFlags, agentGates, agentSettings } from "./settings.ts";
import { agentUsage } from "./usage.ts";

const env = { NODE_NAME: "node-1" };
const nothing = () => false;

t.test("defaults are the reference's", async (t) => {
  t.match(agentSettings([], env, nothing), {
    nodeName: "node-1",
    address: ":10221",
    socketFile: "",
    maxPulls: -1,
    pluginConfigFile: "/kruise/CredentialProviderPlugin.yaml",
    startedBy: "agent",
    gates: { DaemonWatchingPod: true, InPlaceUpdateEnvFromMetadata: true, PodProbeMarkerGate: true },
  });
  t.same(agentSettings([], env, () => true).socketRoots, ["/hostvarrun"]);
});

t.test("without NODE_NAME it says so", async (t) => {
  t.throws(() => agentSettings([], {}, nothing), {
    code: "Config",
    message: "not found NODE_NAME in environments",
  });
});

t.test("flags in both spellings; the reference's other flags are accepted and named", async (t) => {
  const settings = agentSettings(
    [
      "--addr=:1",
      "--socket-file",
      "cri-dockerd.sock",
      "--enable-pprof",
      "--pprof-addr=localhost:10222",
      "--v=4",
      "-logtostderr=true",
    ],
    env,
    nothing,
  );
  t.equal(settings.address, ":1");
  t.equal(settings.socketFile, "cri-dockerd.sock");
  t.equal(settings.withoutEffect.length, 3);
  t.match(settings.withoutEffect[0], "--enable-pprof has no effect");
});

t.test("whatever the reference's log takes starts this agent, too", async (t) => {
  const switches = [
    "--alsologtostderr",
    "--add_dir_header",
    "--skip_headers",
    "--skip_log_headers",
    "--one_output",
  ];
  const texts = ["--log_file=/x", "--log_dir", "/y", "--log_file_max_size=1", "--log_backtrace_at=a.go:1"];
  const more = ["--stderrthreshold=2", "--logging-format=json", "--log-flush-frequency=5s", "--vmodule=a=1"];
  const settings = agentSettings([...switches, ...texts, ...more, "--addr=:1"], env, nothing);
  t.equal(settings.address, ":1", "a switch takes no word after it");
  t.equal(settings.withoutEffect.length, switches.length + texts.length - 1 + more.length);
});

t.test("mistakes are errors", async (t) => {
  const wrong: [string[], RegExp][] = [
    [["--sock=x"], /unknown flag --sock; there are --addr/],
    [["--addr"], /--addr needs a value/],
    [["run"], /"run" is not a flag/],
    [["--max-workers-for-pull-image=two"], /must be a whole number/],
    [["--restart-containers-by=me"], /must be agent or kubelet/],
    [["--feature-gates=A"], /"A" is not Name=true/],
  ];
  for (const [argv, message] of wrong)
    t.throws(() => agentSettings(argv, env, nothing), { code: "Config", message });
});

t.test("gates follow from each other", async (t) => {
  t.same(agentGates("KruiseDaemon=false"), {
    DaemonWatchingPod: false,
    InPlaceUpdateEnvFromMetadata: false,
    PodProbeMarkerGate: false,
    EnhancedLivenessProbe: false,
  });
  t.ok(agentGates("").EnhancedLivenessProbe, "the controller's gate decides which pods ask for it");
  t.notOk(agentGates("AllAlpha=false").EnhancedLivenessProbe);
  t.notOk(agentGates("EnhancedLivenessProbe=true,DaemonWatchingPod=false").EnhancedLivenessProbe);
  t.match(agentGates("DaemonWatchingPod=false,Unknown=true"), {
    InPlaceUpdateEnvFromMetadata: false,
    PodProbeMarkerGate: true,
  });
  t.match(agentGates("AllBeta=false, KruiseDaemon=true,PodProbeMarkerGate=true"), {
    PodProbeMarkerGate: true,
    DaemonWatchingPod: false,
  });
});

t.test("Deno gets neither everything nor the right to run programs", async (t) => {
  const flags = denoPermissions({
    stateFolder: "/var/lib/refit-agent",
    socketFolder: "/hostvarrun",
    pluginConfigFile: "/kruise/CredentialProviderPlugin.yaml",
    home: "/root",
  });
  t.notOk(flags.some((flag) => /--allow-(all|run|ffi|sys)|^-A$/.test(flag)));
  t.ok(flags.includes("--allow-write=/var/lib/refit-agent,/hostvarrun"));
  t.notOk(flags.includes("--allow-read"), "paths only");
});

t.test("help names every flag with its default, and every gate", async (t) => {
  const help = agentUsage("refit agent");
  t.match(help, /^Usage: NODE_NAME=NODE refit agent \[flags\]$/m);
  for (const [name, { initial }] of Object.entries(agentFlags)) {
    t.match(help, new RegExp(`^ {2}--${name}\\b.*\\.$`, "m"));
    if (initial !== "") t.ok(help.includes(` Default ${initial}.`), name);
  }
  for (const name of Object.keys(agentGates(""))) t.match(help, `  ${name}=true`);
});
