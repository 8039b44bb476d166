import t from "tap";
import { featureGateNames, parseFeatureGates } from "../../controller/index.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { golden } from "../../testkit/cli/golden.ts";
import { parseArguments } from "../arguments.ts";
import { globalFlagsBeside } from "../global_flags.ts";
import { controllerFlags } from "./controller_flags.ts";
import { processSettings } from "./settings.ts";
import { textLog } from "./text_log.ts";

function settings(argv: readonly string[], env: Record<string, string> = {}) {
  return processSettings(
    parseArguments(argv, { ...controllerFlags, ...globalFlagsBeside(controllerFlags) }, "refit controller")
      .flags,
    env,
  );
}

t.test("defaults are the reference's", (t) => {
  const { controller, ...rest } = settings([]);
  t.same(rest, {
    metrics: ":8080",
    workloadMetrics: false,
    stageMetrics: false,
    health: ":8000",
    leader: {
      enabled: true,
      namespace: "kruise-system",
      name: "kruise-manager",
      leaseDurationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 2000,
      shards: 1,
    },
    webhook: {
      namespace: "kruise-system",
      service: "kruise-webhook-service",
      secret: "kruise-webhook-certs",
      host: undefined,
      port: 9876,
      certificateDirectory: undefined,
      certificates: "secret",
      renewBeforeMs: 180 * 86_400_000,
    },
    allowPrivileged: true,
    audit: { folder: "/log", required: false },
    webhookTimeoutMs: 60_000,
    cacheSyncTimeoutMs: 120_000,
    log: { format: "text", verbosity: 0 },
  });
  t.match(controller, {
    namespace: "",
    baseDelayMs: 5,
    maxDelayMs: 1_000_000,
    workers: { "cloneset-controller": 3 },
  });
  t.end();
});

t.test("every flag of the reference is taken, and the gates are listed with their defaults", async (t) => {
  const given = Object.entries(controllerFlags).map(([name, flag]) => `--${name}=${flag.default}`);
  t.doesNotThrow(() => settings(given));
  const help = Object.entries(controllerFlags)
    .map(([name, flag]) => `--${name} ${flag.default}: ${flag.help}`)
    .join("\n");
  t.equal(help, golden("controller_flags.txt", help));
  const { stdout } = await run("controller --help");
  for (const gate of featureGateNames) {
    const state = parseFeatureGates()[gate] ? "on" : "off";
    t.match(stdout, new RegExp(`^ {2}${gate} +(alpha|beta) +${state}$`, "m"), gate);
  }
});

t.test("gates: forced values, groups, legacy variable, unknown names", (t) => {
  t.match(settings(["--feature-gates=PodWebhook=false,WorkloadSpread=true"]).controller.gates, {
    PodWebhook: false,
    WorkloadSpread: false,
  });
  t.match(settings(["--feature-gates", "AllAlpha=true,CloneSetShortHash=false"]).controller.gates, {
    CloneSetShortHash: false,
    EnableExternalCerts: true,
  });
  t.equal(settings([], { CUSTOM_RESOURCE_ENABLE: "CloneSet" }).controller.gates.PodWebhook, false);
  t.equal(settings([], { CUSTOM_RESOURCE_ENABLE: "CloneSet,SidecarSet" }).controller.gates.PodWebhook, true);
  t.equal(
    settings(["--feature-gates=PodWebhook=true"], { CUSTOM_RESOURCE_ENABLE: "CloneSet" }).controller.gates
      .PodWebhook,
    true,
  );
  t.throws(
    () => settings(["--feature-gates=EnhancedLivenessProbeGate=true"]),
    /unrecognized feature gate: EnhancedLivenessProbeGate/,
  );
  t.end();
});

t.test("values that cannot be meant are refused with the flag's name", (t) => {
  const refusals: [string[], RegExp][] = [
    [["--metrics-addr=8080"], /--metrics-addr/],
    [["--health-probe-addr=:99999"], /--health-probe-addr/],
    [["--leader-election-renew-deadline=20s"], /lease duration > renew deadline/],
    [["--leader-election-resource-lock=configmaps"], /leases is the only lock/],
    [["--default-ttlseconds-for-always-nodeimage=2678401"], /0 to 2678400/],
    [["--cloneset-workers=0"], /--cloneset-workers/],
    [["--logging-format=xml"], /--logging-format/],
    [["--rest-config-qps=fast"], /--rest-config-qps/],
    [["--expectation-timeout=soon"], /--expectation-timeout/],
  ];
  for (const [argv, text] of refusals) t.throws(() => settings(argv), text, argv.join(" "));
  t.throws(() => settings([], { WEBHOOK_PORT: "http" }), /WEBHOOK_PORT/);
  t.end();
});

t.test("environment and addresses", (t) => {
  const { webhook } = settings([], {
    WEBHOOK_HOST: "127.0.0.1",
    WEBHOOK_PORT: "1234",
    CERTS_RENEW_BEFORE: "2m",
    POD_NAMESPACE: "x",
    HOME: "/home/a",
  });
  t.match(webhook, {
    host: "127.0.0.1",
    port: 1234,
    certificates: "fs",
    renewBeforeMs: 60 * 86_400_000,
    namespace: "x",
  });
  t.equal(settings([], { CERTS_RENEW_BEFORE: "7w" }).webhook.renewBeforeMs, 180 * 86_400_000);
  t.equal(settings(["--metrics-addr=0"]).metrics, undefined);
  t.same(settings(["--metrics-addr=[::1]:9"]).metrics, "[::1]:9");
  t.equal(settings(["-v=5"]).log.verbosity, 5);
  t.end();
});

t.test("profiles are served on request, and on loopback only", (t) => {
  const debug = (...flags: string[]) => settings(flags).debug;
  t.equal(debug(), undefined);
  t.equal(debug("--enable-pprof=true"), "127.0.0.1:8090");
  t.equal(debug("--enable-pprof=true", "--pprof-addr=:9"), "127.0.0.1:9");
  t.equal(debug("--enable-pprof=true", "--pprof-addr=[::1]:9"), "[::1]:9");
  t.equal(debug("--enable-pprof=true", "--pprof-addr=localhost:9"), "localhost:9");
  t.equal(debug("--enable-pprof=true", "--pprof-addr=0"), undefined);
  for (const address of ["0.0.0.0:9", "[::]:9", "example.com:9", "127.example.com:9"])
    t.throws(() => debug("--enable-pprof=true", `--pprof-addr=${address}`), /must be on loopback/);
  t.end();
});

t.test("a bad flag ends the command with one line", async (t) => {
  const { code, stderr } = await run("controller --feature-gates=Nope=true");
  t.equal(code, 1);
  t.match(stderr, /^error: --feature-gates: unrecognized feature gate: Nope/);
  t.equal(stderr.trimEnd().split("\n").length, 1);
});

t.test("text log lines", (t) => {
  const lines: string[] = [];
  const log = textLog(
    { write: (line: string) => lines.push(line) },
    () => 0,
    () => "info",
  );
  log.debug("unseen");
  log.with({ controller: "cloneset-controller" }).warn("two words", { object: "a/b", count: 3, note: "x y" });
  t.same(lines, [
    '1970-01-01T00:00:00.000Z WARN  two words controller=cloneset-controller object=a/b count=3 note="x y"\n',
  ]);
  t.end();
});
