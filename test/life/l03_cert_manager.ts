import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import { helm } from "../../testkit/cli/helm_fixture.ts";
import { bundlesOf } from "../cases/trusted_authorities.ts";
import type { World } from "../cases/world.ts";
import { type Api, ApiError } from "../cluster/api.ts";
import { startAdmissions } from "./admissions.ts";
import { changeClientConfigs } from "./cert_manager/client_configs.ts";
import { certificateName, type Issuer, issued, secretFiles } from "./cert_manager/issuer.ts";
import { CertManager } from "./cert_manager/program.ts";
import { StandIn } from "./cert_manager/stand_in.ts";
import { removeInstallation, systemNamespace } from "./installation.ts";
import type { Life, LifeSuite } from "./suite.ts";

const root = join(import.meta.dirname, "..", "..");
const release = "refit";

/**
 * The chart with cert-manager: it asks for a certificate, the controller serves what comes, also after a renewal, and writes no
 * authority itself. What issues is cert-manager where the run names its release, else a stand-in. Services reach nothing on a control
 * plane without nodes: the suite gives webhooks and conversion the address of the controller instead.
 */
export const certManagerSuite: LifeSuite = {
  number: "l03",
  title: "Certificates by cert-manager",
  needs: ["own-controller"],
  versions: ["v1beta1"],
  async run(world, life) {
    const home = mkdtempSync(join(tmpdir(), "refit-helm-"));
    const call = async (...words: string[]) => {
      const { code, stderr } = await helm(home, ...words, "--kubeconfig", world.kubeconfig);
      assert.equal(code, 0, stderr);
    };
    const issuer =
      life.certManager === undefined
        ? new StandIn(world.api)
        : await CertManager.of(life.certManager, world, life.cluster.folder);
    try {
      await world.step("what is installed is removed", () => removeInstallation(world));
      await withIssuer(issuer, world, life, call);
    } finally {
      await issuer.stop();
      await helm(home, "uninstall", release, "--no-hooks", "--kubeconfig", world.kubeconfig);
      for (const definition of issuer.definitions)
        await world.api.remove("customresourcedefinitions", definition.metadata.name).catch(unlessGone);
      rmSync(home, { recursive: true, force: true });
    }
  },
};

async function withIssuer(
  issuer: Issuer,
  world: World,
  { print }: Life,
  call: (...words: string[]) => Promise<void>,
): Promise<void> {
  const { api } = world;
  await world.step("the chart asks for a certificate of an authority of its own", async () => {
    for (const definition of issuer.definitions) await api.create(definition);
    await world.until(
      "served",
      async () => {
        for (const resource of Object.values(issued)) await api.list(resource, systemNamespace);
      },
      { stableMs: 1_000 },
    );
    const values = ["externalCerts.certManager.enabled=true", "manager.replicas=0"];
    await call(
      "install",
      release,
      join(root, "bundles/chart"),
      ...values.flatMap((value) => ["--set", value]),
    );
    assert.equal(
      await api.find("secrets", certificateName, systemNamespace),
      undefined,
      "left to cert-manager",
    );
  });
  const webhookPort = portAt(await freePorts(1), 0);
  const controller = await (async () => {
    await issuer.issue();
    await reachAt(api, webhookPort);
    await issuer.inject();
    const gates = "ImagePullJobGate=true,EnableExternalCerts=true";
    const environment = { WEBHOOK_HOST: "localhost", WEBHOOK_CERT_WRITER: "" };
    return world.startController({ leaderElection: true, gates, webhookPort, environment });
  })();
  await world.step("the controller serves it, and leaves all pointers as they are", async () => {
    const before = await bundlesOf(api);
    assert.equal(await servedAt(webhookPort), await fingerprint(api));
    const admissions = startAdmissions(world, 2);
    await world.until("requests are answered", async () => assert.ok(admissions.answered > 20), {
      stableMs: 2_000,
    });
    const { refused } = await admissions.stop();
    assert.deepEqual(refused.slice(0, 5), []);
    assert.deepEqual(await bundlesOf(api), before);
  });
  await world.step(
    "a renewed certificate is served under load, without a restart or a refused request",
    async () => {
      const admissions = startAdmissions(world, 4);
      await world.until("requests are answered", async () => assert.ok(admissions.answered > 20), {
        stableMs: 0,
      });
      const former = await fingerprint(api);
      await issuer.issue();
      assert.notEqual(await fingerprint(api), former);
      await world.until("the new one is served", async () =>
        assert.equal(await servedAt(webhookPort), await fingerprint(api)),
      );
      const { answered, refused } = await admissions.stop();
      print(`figures: ${answered} requests answered, ${refused.length} refused`);
      assert.deepEqual(refused.slice(0, 5), [], `${refused.length} refused, ${answered} answered`);
      assert.equal(controller.exitCode(), undefined);
    },
  );
}

function reachAt(api: Api, port: number): Promise<void> {
  return changeClientConfigs(api, ({ service: _, ...rest }, path) => ({
    ...rest,
    service: null,
    url: `https://localhost:${port}${path}`,
  }));
}

/** Of the certificate that was issued last. */
async function fingerprint(api: Api): Promise<string> {
  return new X509Certificate((await secretFiles(api))?.["tls.crt"] ?? "").fingerprint256;
}

/** Fingerprint of the certificate that is served at a port. */
function servedAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: "localhost", port, servername: "localhost", rejectUnauthorized: false };
    const socket = connect(options, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.end();
    });
    socket.once("error", reject);
  });
}

function unlessGone(error: unknown): void {
  if (!(error instanceof ApiError) || error.status !== 404) throw error;
}
