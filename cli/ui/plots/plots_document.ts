/** A document of somebody else's words and figures with plots of the page. */
import { pageAssets } from "../http/assets.ts";
import { type PlotGroup, plotDataId } from "../shared/plots.ts";
import { addressOf, modulesFrom, wholeHead } from "../whole_document.ts";

export interface PlotsDocument {
  readonly title: string;
  /** Markup, in which all texts are escaped; what a group is drawn into is an empty element in it. */
  readonly body: string;
  /** Rules beside those of the page. */
  readonly style: string;
  readonly groups: readonly PlotGroup[];
  /** A random word; nothing that lacks it is loaded. */
  readonly nonce: string;
}

const entry = "/page/plotted.js";

/** HTML that needs nothing else: in the look of the page, drawn by the page's own modules, under the page's policy. */
export async function plotsDocument({ title, body, style, groups, nonce }: PlotsDocument): Promise<string> {
  const assets = await pageAssets();
  const own = `data:text/css;base64,${Buffer.from(style).toString("base64")}`;
  const sheets = [addressOf("/page/style.css", assets), own];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
${wholeHead(assets, nonce, modulesFrom(entry, assets)).join("\n")}
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<title>${escaped(title)}</title>
<link rel="icon" href="${addressOf("/page/icon.svg", assets)}" nonce="${nonce}" type="image/svg+xml" />
${sheets.map((sheet) => `<link rel="stylesheet" href="${sheet}" nonce="${nonce}" />`).join("\n")}
<script type="module" src="${addressOf(entry, assets)}" nonce="${nonce}"></script>
</head>
<body>
${body}
<script type="application/json" id="${plotDataId}">${JSON.stringify(groups).replace(/</g, "\\u003c")}</script>
</body>
</html>
`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A text as markup that shows it. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => entities[letter] ?? letter);
}
