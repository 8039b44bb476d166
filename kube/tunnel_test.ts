import { connect, createServer, type Socket } from "node:net";
import t, { type Test } from "tap";
import { listening } from "./listening_fixture.ts";
import { openTunnel, type TunnelTarget } from "./tunnel.ts";

interface Proxy {
  readonly port: number;
  /** Bytes of each step, in hexadecimal, as they came. */
  readonly heard: string[];
}

/** Answers one step after the other; after the last one it is what `behind` says. */
async function proxyOf(
  t: Test,
  answers: readonly string[],
  behind?: (client: Socket) => void,
): Promise<Proxy> {
  const heard: string[] = [];
  const server = createServer((client) => {
    const left = [...answers];
    client.on("error", () => undefined);
    const step = (bytes: Buffer): void => {
      heard.push(bytes.toString("hex"));
      const answer = left.shift();
      if (answer === undefined) client.end();
      else client.write(Buffer.from(answer, "hex"));
      if (left.length > 0 || !behind) return;
      client.off("data", step);
      behind(client);
    };
    client.on("data", step);
  });
  return { port: await listening(t, server), heard };
}

function tunnel(t: Test, proxy: string, target: TunnelTarget): Promise<Socket> {
  return new Promise((resolve, reject) => {
    openTunnel(new URL(proxy), target, (result) => {
      if (result instanceof Error) return reject(result);
      t.teardown(() => result.destroy());
      resolve(result);
    });
  });
}

async function lineOf(socket: Socket): Promise<string> {
  for await (const chunk of socket) return String(chunk);
  return "";
}

const granted = "050000017f0000011f90";

t.test("SOCKS 5 without a login: the proxy resolves the name, and bytes go both ways", async (t) => {
  const echo = createServer((socket) => socket.pipe(socket));
  const port = await listening(t, echo);
  const proxy = await proxyOf(t, ["0500", granted], (client) =>
    client.pipe(connect(port, "127.0.0.1")).pipe(client),
  );
  const socket = await tunnel(t, `socks5://127.0.0.1:${proxy.port}`, { host: "a.example", port: 6443 });
  socket.write("there and back\n");
  t.equal(await lineOf(socket), "there and back\n");
  const name = Buffer.from("a.example").toString("hex");
  t.same(proxy.heard, ["050100", `05010003${"09"}${name}${"192b"}`]);
});

t.test("with a login, and addresses as addresses", async (t) => {
  for (const [host, bytes] of [
    ["10.1.2.3", "010a010203"],
    ["fd00::1:2", "04fd000000000000000000000000010002"],
    ["::ffff:10.1.2.3", "0400000000000000000000ffff0a010203"],
  ] as const) {
    const proxy = await proxyOf(t, ["0502", "0100", `05000004${"00".repeat(18)}`]);
    await tunnel(t, `socks5h://me:p%40s@127.0.0.1:${proxy.port}`, { host, port: 443 });
    t.same(proxy.heard, ["05020002", `01026d65${"03704073"}`, `050100${bytes}01bb`]);
  }
});

t.test("what follows a reply stays for whoever reads next", async (t) => {
  const name = `${"05"}${Buffer.from("proxy").toString("hex")}`;
  const proxy = await proxyOf(t, ["0500", `05000003${name}0000${Buffer.from("hello").toString("hex")}`]);
  const socket = await tunnel(t, `socks://127.0.0.1:${proxy.port}`, { host: "a.example", port: 1 });
  t.equal(await lineOf(socket), "hello");
});

t.test("refusals say why", async (t) => {
  for (const [answers, login, why] of [
    [["05ff"], "", /it wants another login/],
    [["0502"], "", /it wants another login/],
    [["0502", "0101"], "me:wrong@", /the password is wrong/],
    [["0500", "05050001000000000000"], "", /refused a\.example:80: connection refused/],
    [["0500", "05630001000000000000"], "", /code 99/],
    [["4854"], "", /it does not speak SOCKS 5/],
    [["0500"], "", /the proxy ended the connection/],
    [["0500", "0500"], "", /the proxy ended the connection/],
  ] as const) {
    const proxy = await proxyOf(t, answers, (client) => client.end());
    const target = { host: "a.example", port: 80 };
    await t.rejects(tunnel(t, `socks5://${login}127.0.0.1:${proxy.port}`, target), { message: why });
  }
});

t.test("no proxy, an unknown one, a name that is too long, and giving up", async (t) => {
  const target = { host: "a.example", port: 80 };
  await t.rejects(tunnel(t, "socks5://127.0.0.1:1", target), { code: "ECONNREFUSED" });
  await t.rejects(tunnel(t, "ftp://127.0.0.1:1", target), {
    message: /ftp:.*instead of http, https or socks5/,
  });
  const proxy = await proxyOf(t, ["0500"]);
  const url = `socks5://127.0.0.1:${proxy.port}`;
  await t.rejects(tunnel(t, url, { host: "x".repeat(256), port: 80 }), {
    message: /longer than SOCKS can say/,
  });
  const silent = createServer(() => undefined);
  const waiting = new Promise<Socket | Error>((resolve) => {
    listening(t, silent).then((port) => {
      const giveUp = openTunnel(new URL(`socks5://127.0.0.1:${port}`), target, resolve);
      silent.once("connection", () => giveUp(new Error("enough")));
    }, resolve);
  });
  t.match(await waiting, { message: "enough" });
});
