import t from "tap";
import { readContainerfile } from "./containerfile.ts";
import { BundleError } from "./errors.ts";

const file = `# A comment.
ARG BASE=node:24
FROM \${BASE}
ARG VERSION=
LABEL title="a \${VERSION} b"
LABEL empty="\${VERSION}"

COPY --chown=1:2 a.mjs /x/a.mjs
COPY --chown=1:2 more/ /x/more/
USER 1:2
ENV A=b=c
ENTRYPOINT ["node", "/x/a.mjs"]
CMD []
`;

t.test("what an image adds to its base", async (t) => {
  t.same(readContainerfile("f", file, new Map([["VERSION", "3"]])), {
    base: "node:24",
    copies: [
      { source: "a.mjs", target: "/x/a.mjs", uid: 1, gid: 2 },
      { source: "more/", target: "/x/more/", uid: 1, gid: 2 },
    ],
    user: "1:2",
    environment: new Map([["A", "b=c"]]),
    labels: new Map([
      ["title", "a 3 b"],
      ["empty", "3"],
    ]),
    entrypoint: ["node", "/x/a.mjs"],
    command: [],
  });
});

t.test("arguments have defaults, and labels without a value are left out", async (t) => {
  const { base, labels } = readContainerfile("f", file, new Map([["BASE", "own:1"]]));
  t.equal(base, "own:1");
  t.same(labels, new Map([["title", "a  b"]]));
});

function refusal(text: string): string {
  try {
    readContainerfile("f", text, new Map());
    return "read";
  } catch (error) {
    return error instanceof BundleError ? error.message : String(error);
  }
}

t.test("what is not understood is refused with file and line", async (t) => {
  for (const [from, to, problem] of [
    ["USER 1:2", "RUN apt-get update", "f:10: RUN is not among"],
    ["--chown=1:2 a.mjs", "a.mjs", "f:8: COPY --chown=UID:GID SOURCE /TARGET is expected"],
    ["CMD []", "CMD node", 'f:13: CMD ["program", "argument"] is expected'],
    ["ENV A=b=c", "ENV A", "f:11: NAME=VALUE is expected"],
    ["ARG VERSION=", "ARG OTHER=", `f:5: \${VERSION} has no ARG`],
    ["USER 1:2\n", "", "f: has no USER"],
    ["CMD []", "CMD", "f:13: an instruction without arguments"],
  ] as const) {
    t.equal(refusal(file.replace(from, to)).slice(0, problem.length), problem);
  }
});
