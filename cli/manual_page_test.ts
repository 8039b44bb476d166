import t from "tap";
import { commandGroups } from "./commands.ts";
import { flagsOf } from "./help.ts";
import { manualPage } from "./manual_page.ts";

t.test("every command is there with its flags, and nothing that roff would take for a request", async (t) => {
  const page = await manualPage();
  const lines = page.split("\n");
  const commands = commandGroups.flatMap((group) => (group.isHidden === true ? [] : group.commands));
  for (const command of commands) {
    const heading = lines.findIndex((line) => line.startsWith(`.SS refit ${roff(command.name)}`));
    t.ok(heading >= 0, command.name);
    const next = lines.findIndex((line, index) => index > heading && /^\.S[SH] /.test(line));
    const section = lines.slice(heading, next).join("\n");
    for (const name of Object.keys(await flagsOf(command))) {
      const written = name.length === 1 ? `\\-${name}` : roff(`--${name}`);
      t.ok(section.includes(written), `${command.name} ${written}`);
    }
  }
  const requests = new Set(lines.flatMap((line) => /^[.']\S*/.exec(line) ?? []));
  t.same([...requests].sort(), [".B", ".PP", ".SH", ".SS", ".TH", ".TP", ".br", ".fi", ".nf"]);
});

const roff = (text: string): string => text.replaceAll("-", "\\-");
