import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { leaderOf } from "../cases/controllers.ts";
import { bundlesOf } from "../cases/trusted_authorities.ts";
import type { World } from "../cases/world.ts";
import { isRecord } from "../cluster/api.ts";
import { startAdmissions } from "./admissions.ts";
import { Installation } from "./installation.ts";
import type { LifeSuite } from "./suite.ts";

const secret = { namespace: "kruise-system", name: "kruise-webhook-certs" } as const;
const lanes = 8;

/** While requests that need webhooks keep coming, certificates and their authority are replaced: none is refused. */
export const certificateSuite: LifeSuite = {
  number: "l02",
  title: "Certificates are replaced under load",
  needs: ["own-controller"],
  versions: ["v1beta1"],
  async run(world, { print }) {
    const installation = new Installation(world);
    await world.step("two replicas", async () => {
      await installation.begin();
      await world.until("one authority", () => expectOneAuthority(world), { stableMs: 0 });
    });
    const underLoad = async (change: () => Promise<void>) => {
      const admissions = startAdmissions(world, lanes);
      await world.until("requests are answered", async () => assert.ok(admissions.answered > 20), {
        stableMs: 0,
      });
      await change();
      const { answered, refused } = await admissions.stop();
      print(`figures: ${answered} requests answered, ${refused.length} refused`);
      assert.deepEqual(refused.slice(0, 5), [], `${refused.length} refused, ${answered} answered`);
    };
    await world.step("a certificate that is gone is issued again by the same authority", () =>
      underLoad(async () => {
        const before = await storedText(world, "ca-cert.pem");
        const data = Object.fromEntries(["cert.pem", "tls.crt"].map((key) => [key, null]));
        await world.api.patch("secrets", secret.name, secret.namespace, "merge", { data });
        await world.until("issued", async () => assert.ok(await storedText(world, "cert.pem")), {
          stableMs: 3_000,
        });
        assert.equal(await storedText(world, "ca-cert.pem"), before);
      }),
    );
    const replaceAuthority = async (meanwhile: () => Promise<void>) => {
      const before = await storedText(world, "ca-cert.pem");
      await world.api.remove("secrets", secret.name, secret.namespace);
      await meanwhile();
      await world.until(
        "another authority, and no other is trusted",
        async () => {
          assert.notEqual(await storedText(world, "ca-cert.pem"), before);
          await expectOneAuthority(world);
        },
        { timeoutMs: 100_000, stableMs: 3_000 },
      );
    };
    await world.step("the authority is replaced", () =>
      underLoad(() => replaceAuthority(async () => undefined)),
    );
    await world.step("the authority is replaced while a replica stands still", () =>
      underLoad(async () => {
        const leader = await leaderOf(installation.replicas);
        const other = installation.replicas.find((replica) => replica !== leader);
        assert.ok(other);
        await replaceAuthority(() => standStill(other.pid, 4_000));
      }),
    );
  },
};

/** As under a limit of CPU, or on a machine that is suspended. Connections are accepted meanwhile, and answered after it. */
async function standStill(pid: number, ms: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  try {
    await sleep(ms);
  } finally {
    process.kill(pid, "SIGCONT");
  }
}

async function storedText(world: World, key: string): Promise<string> {
  const { data } = await world.api.get("secrets", secret.name, secret.namespace);
  const text = isRecord(data) ? data[key] : undefined;
  assert.equal(typeof text, "string", `${key} of the Secret`);
  return Buffer.from(String(text), "base64").toString("utf8").trim();
}

async function expectOneAuthority(world: World): Promise<void> {
  const authority = await storedText(world, "ca-cert.pem");
  for (const [place, bundle] of await bundlesOf(world.api)) {
    assert.equal(Buffer.from(bundle, "base64").toString("utf8").trim(), authority, place);
  }
}
