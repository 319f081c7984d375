/**
 * The page that shows the description: one HTML document that loads nothing but the description.
 */
import { hash } from "node:crypto"
import { type Cacheable, makeETag } from "../cacheable.ts"
import { markup, script, style } from "./page.generated.ts"

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

const sourceOf = (inline: string): string => `'sha256-${hash("sha256", inline, "base64")}'`

const contentSecurityPolicy = [
  "default-src 'none'",
  `script-src ${sourceOf(script)}`,
  `style-src ${sourceOf(style)}`,
  // Only the empty icon: without one, browsers ask the host for /favicon.ico.
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

/** Rendered once. The page holds nothing of the host's: not even the description, which it fetches. */
export const docsPage: Cacheable = {
  etag: makeETag(html, contentSecurityPolicy),
  headers: {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": contentSecurityPolicy,
    "referrer-policy": "no-referrer"
  },
  body: Buffer.from(html)
}
