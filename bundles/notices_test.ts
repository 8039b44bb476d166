import t from "tap";
import { type Notice, noticesOf } from "./notices.ts";

const notice = (more: Partial<Notice>): Notice => ({
  name: "good",
  version: "1.0.0",
  license: "MIT",
  licenseText: "Permission is granted.\n",
  noticeText: null,
  ...more,
});

t.test("the texts of all packages, by name, after the project's own", async (t) => {
  const text = noticesOf("Own licence.", [
    notice({ name: "z" }),
    notice({ name: "a", license: "Apache-2.0", noticeText: "Made by A." }),
  ]);
  t.match(
    text,
    /Own licence\.[\s\S]*a@1\.0\.0 \(Apache-2\.0\)\n\nPermission[\s\S]*Made by A\.[\s\S]*z@1\.0\.0 \(MIT\)\n\nPermission/,
  );
});

t.test("a build ends when a package has no licence, another one, or none of its text", async (t) => {
  const bundled = [
    notice({}),
    notice({ name: "none", license: null }),
    notice({ name: "strict", license: "GPL-3.0-only" }),
    notice({ name: "either", license: "MIT OR GPL-3.0-only" }),
    notice({ name: "mute", licenseText: "\n" }),
  ];
  const problems = [
    "either@1.0.0: licence MIT OR GPL-3.0-only",
    "mute@1.0.0: no text of its licence, MIT",
    "none@1.0.0: licence unknown",
    "strict@1.0.0: licence GPL-3.0-only",
  ];
  t.throws(() => noticesOf("", bundled), { message: new RegExp(`shipped:\n${problems.join("\n")}\n`) });
});
