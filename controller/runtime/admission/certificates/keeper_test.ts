import t from "tap";
import { nullLog } from "../../../../kube/index.ts";
import { testClock } from "../../../../testkit/kube/fake_clock.ts";
import type { ClusterTrust } from "../cluster_trust.ts";
import type { CertificateSet } from "./certificate_set.ts";
import { CertificateKeeper } from "./keeper.ts";

const set = (ca: string, cert = `${ca}-cert`): CertificateSet => ({
  caCert: ca,
  caKey: "",
  cert,
  key: `${cert}-key`,
});

/** A replica whose Secret and cluster are under the test's hand; `course` says what it did, in order. */
function replica({ leads }: { leads: boolean }) {
  const clock = testClock();
  const course: string[] = [];
  const state = { stored: set("one"), trusted: "one" };
  const trust: ClusterTrust = {
    async apply(caCerts, options) {
      if (!options.leads) return;
      const trusted = caCerts.trim().replaceAll("\n", " ");
      if (trusted !== state.trusted) course.push(`trust ${trusted}`);
      state.trusted = trusted;
    },
    trusts: async (caCert) => state.trusted.includes(caCert),
    check: () => Promise.reject(new Error("not external")),
  };
  const keeper = new CertificateKeeper({
    store: { ensure: async () => state.stored },
    trust,
    leads: () => leads,
    external: false,
    clock,
    log: nullLog,
  });
  keeper.subscribe(({ cert }) => course.push(`serve ${cert}`));
  return { clock, course, keeper, state };
}

t.test("a new CA is trusted beside the former one before it is served, and alone at the end", async (t) => {
  const { clock, course, keeper, state } = replica({ leads: true });
  keeper.start();
  await clock.settle();
  state.stored = set("two");
  keeper.renew();
  await clock.advance(999);
  t.same(course, ["serve one-cert", "trust two one"]);
  t.equal(keeper.caCert, "one", "readiness asks for what is served");
  await clock.advance(1);
  await clock.advance(9_999);
  t.same(course, ["serve one-cert", "trust two one", "serve two-cert"]);
  t.equal(keeper.caCert, "two");
  await clock.advance(2);
  t.same(course.at(-1), "trust two");
  await clock.advance(200_000);
  t.equal(course.length, 4);
  await keeper.stop();
});

t.test("a replica that does not lead serves a new CA when the leader has made it trusted", async (t) => {
  const { clock, course, keeper, state } = replica({ leads: false });
  keeper.start();
  await clock.settle();
  state.stored = set("two");
  keeper.renew();
  await clock.advance(5_000);
  t.same(course, ["serve one-cert"]);
  state.trusted = "two one";
  keeper.renew();
  await clock.advance(1_000);
  t.same(course, ["serve one-cert", "serve two-cert"]);
  await keeper.stop();
});

t.test("a new certificate of the same CA is served at once", async (t) => {
  const { clock, course, keeper, state } = replica({ leads: false });
  keeper.start();
  await clock.settle();
  state.stored = set("one", "next");
  keeper.renew();
  await clock.settle();
  t.same(course, ["serve one-cert", "serve next"]);
  await keeper.stop();
});

t.test("a stop in the middle of a change of CAs ends it", async (t) => {
  const { clock, course, keeper, state } = replica({ leads: true });
  keeper.start();
  await clock.settle();
  state.stored = set("two");
  keeper.renew();
  await clock.settle();
  await keeper.stop();
  t.equal(clock.pending, 0);
  t.same(course.slice(0, 2), ["serve one-cert", "trust two one"]);
});
