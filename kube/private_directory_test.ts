import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { type Identity, ownIdentity, privateDirectory, readPrivateFile } from "./private_directory.ts";

const self: Identity = ownIdentity() ?? { uid: 0, gid: 0 };
const somebodyElse: Identity = { uid: self.uid + 4711, gid: self.gid + 4711 };

async function folder(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "refit-private-"));
  t.teardown(() => rm(path, { recursive: true, force: true }));
  return path;
}

t.test("a missing directory is made for its owner alone", async (t) => {
  const path = join(await folder(t), "state", "certs");
  t.equal(await privateDirectory(path), path);
  t.equal((await stat(path)).mode & 0o777, 0o700);
  t.equal(await privateDirectory(path), path, "and used again");
});

t.test("a directory that somebody else could change is refused, with the reason", async (t) => {
  const parent = await folder(t);
  const refused = (path: string, why: RegExp, as = self) =>
    t.rejects(privateDirectory(path, as), { code: "Config", message: why }, String(why));
  const open = join(parent, "open");
  await mkdir(open);
  for (const mode of [0o770, 0o707, 0o1777]) {
    await chmod(open, mode);
    await refused(open, /others may write to it \(mode [01]7[07][07]\)/);
  }
  const link = join(parent, "link");
  await mkdir(join(parent, "target"), { mode: 0o700 });
  await symlink(join(parent, "target"), link);
  await refused(link, /is a symbolic link/);
  await chmod(open, 0o777);
  await refused(join(open, "certs"), /others may write to its parent .*open \(mode 0777\)/);
  await symlink(open, join(parent, "way"));
  await refused(join(parent, "way", "certs"), /others may write to its parent/);
  await chmod(open, 0o1777);
  t.equal(await privateDirectory(join(open, "certs")), join(open, "certs"), "as below /tmp");
  await writeFile(join(parent, "file"), "");
  await t.rejects(privateDirectory(join(parent, "file")));
});

t.test("a directory of somebody else is refused", async (t) => {
  const path = join(await folder(t), "certs");
  await mkdir(path, { mode: 0o700 });
  await t.rejects(privateDirectory(path, somebodyElse), { code: "Config", message: /belongs to uid/ });
});

t.test("files are read when only we may have written them", async (t) => {
  const path = join(await folder(t), "tls.key");
  t.equal(await readPrivateFile(path), undefined);
  await writeFile(path, "key", { mode: 0o600 });
  t.equal(await readPrivateFile(path), "key");
  await t.rejects(readPrivateFile(path, somebodyElse), { code: "Config", message: /belongs to uid/ });
  await chmod(path, 0o622);
  await t.rejects(readPrivateFile(path), { code: "Config", message: /others may write to it \(mode 0622\)/ });
  await t.rejects(readPrivateFile(tmpdir()), /no file|EISDIR/);
  await rm(path);
  await promisify(execFile)("mkfifo", [path]);
  await t.rejects(readPrivateFile(path), { message: /it is no file/ }, "a pipe does not hold anybody up");
});

const program = `
const { privateDirectory } = await import(process.argv[1]);
console.log(await privateDirectory(process.argv[2]));`;

t.test(
  "in a volume that is root's and everybody's, a directory of our own",
  { skip: rootSkip() },
  async (t) => {
    const volume = await folder(t);
    await chmod(volume, 0o2777);
    const module = new URL("./private_directory.ts", import.meta.url).pathname;
    const nobody = { uid: 65_534, gid: 65_534 };
    const { stdout } = await promisify(execFile)(process.execPath, ["-e", program, module, volume], nobody);
    t.equal(stdout.trim(), join(volume, "refit-65534"));
    const status = await stat(join(volume, "refit-65534"));
    t.same([status.uid, status.mode & 0o777], [65_534, 0o700]);
  },
);

function rootSkip(): string | false {
  return process.geteuid?.() === 0 ? false : "only root can start a process of another user";
}
