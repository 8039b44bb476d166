/** The page's files where it may act: its head says what fits which kind. */
import { gzipSync } from "node:zlib";
import { actionTable } from "../acting/action_table.ts";
import { actionTableName } from "../shared/actions.ts";
import type { Assets } from "./assets.ts";

export function assetsForActing(assets: Assets): Assets {
  const page = assets.get("/");
  if (page === undefined) return assets;
  const content = JSON.stringify(actionTable()).replaceAll('"', "&quot;");
  const text = Buffer.from(page.body).toString();
  const meta = `  <meta name="${actionTableName}" content="${content}" />\n  </head>`;
  const body = Buffer.from(text.replace("</head>", () => meta));
  return new Map([...assets, ["/", { ...page, body, packed: gzipSync(body) }]]);
}
