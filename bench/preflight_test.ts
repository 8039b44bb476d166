import t from "tap";
import { type Client, KubeError } from "../kube/index.ts";
import { checkAccess, reachServer } from "./preflight.ts";

/** A server that answers plain requests only. */
function server(request: (method: string, path: string, body?: object) => unknown): Client {
  const never = (): never => {
    throw new Error("not asked for here");
  };
  return {
    get: never,
    list: never,
    create: never,
    replace: never,
    patch: never,
    delete: never,
    watch: never,
    request: async (method, path, body) => request(method, path, body),
    stream: never,
    close: async () => undefined,
  };
}

t.test("a server that is too old, and one that is not", async (t) => {
  const of = (minor: string) => server(() => ({ major: "1", minor, gitVersion: `v1.${minor}.0` }));
  await t.rejects(reachServer(of("21")), {
    message: "the API server is Kubernetes v1.21.0; the bench needs 1.22 or newer",
  });
  t.equal(await reachServer(of("34+")), "v1.34+.0");
});

t.test("missing permissions are named together", async (t) => {
  const asked: object[] = [];
  const limited = server((_method, _path, body) => {
    asked.push(body ?? {});
    const text = JSON.stringify(body);
    const refused = text.includes('"nodes"') && (text.includes('"create"') || text.includes('"subresource"'));
    return { status: { allowed: !refused } };
  });
  await t.rejects(checkAccess(limited, ["CloneSet"]), {
    message: "this user may not create nodes; patch nodes/status; nothing was created",
  });
  t.ok(asked.some((body) => JSON.stringify(body).includes('"clonesets"')));
  await t.resolves(
    checkAccess(
      server(() => ({ status: { allowed: true } })),
      [],
    ),
  );
});

t.test("a server without reviews is not asked on", async (t) => {
  let asked = 0;
  const silent = server(() => {
    asked++;
    throw new KubeError("NotFound", "no such path");
  });
  await t.resolves(checkAccess(silent, ["CloneSet"]));
  t.equal(asked, 1);
});
