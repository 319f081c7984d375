/**
 * The documentation page: one static HTML document that loads only the OpenAPI description.
 */
import { hash } from "node:crypto"
import { type Cacheable, Docs, makeETag, respondCacheable, type ServedRoute } from "@tollgate/core/module"
import { Effect } from "effect"
import { markup, script, style } from "./docsPage.generated.ts"

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Tollgate API</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
${markup}
<script>${script}</script>
</body>
</html>
`

const toCspHash = (inline: string): string => `'sha256-${hash("sha256", inline, "base64")}'`

const contentSecurityPolicy = [
  "default-src 'none'",
  `script-src ${toCspHash(script)}`,
  `style-src ${toCspHash(style)}`,
  // For the empty icon: without one, browsers request /favicon.ico from your application.
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

/** Rendered once: the page is the same on every server, since it fetches the OpenAPI description. */
const docsPage: Cacheable = {
  etag: makeETag(html, contentSecurityPolicy),
  headers: {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": contentSecurityPolicy,
    "referrer-policy": "no-referrer"
  },
  body: Buffer.from(html)
}

/** The page, unless the application has turned the documentation off. */
export const makeDocsPageRoutes = Effect.map(
  Docs,
  (docs): ReadonlyArray<ServedRoute> =>
    docs === false
      ? []
      : [
          {
            method: "GET",
            path: "/v1/docs",
            handler: (request) => Effect.sync(() => respondCacheable(request, docsPage))
          }
        ]
)
