/**
 * The page at `/`: where everything is, and the commands to try. It has no scripts and loads nothing.
 */
import { createHash } from "node:crypto"
import type { RequestHandler } from "express"
import { makeCommands, makeKeyCommand } from "./commands.ts"
import { consumer } from "./demo.ts"

const style = `
  :root { color-scheme: light dark }
  body { font: 1rem/1.6 system-ui, sans-serif; max-width: 46rem; margin: 0 auto; padding: 2rem 1rem }
  h1, h2 { line-height: 1.2 }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: 1rem; border: 1px solid; border-radius: 0.5rem; font-size: 0.875rem }
`

const headers = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; "),
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const renderPage = (url: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tollgate demo server</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Tollgate demo server</h1>
<p>API keys, plans with metered quotas, subscriptions and deployments, with one protected route: <code>/hello</code>.</p>
<ul>
<li><a href="console/">Console</a>: manage everything in the browser</li>
<li><a href="v1/docs">API reference</a>, and its <a href="v1/openapi.json">OpenAPI description</a></li>
<li><a href="healthz">Health</a> and <a href="readyz">readiness</a></li>
</ul>
<h2>Sign in</h2>
<p><code>npm start</code> prints a link to the console, which works once, within 5 minutes. You can also sign in with the management
token. The first start prints it, and saves it as <code>management-token</code> in the folder <code>data</code>, unless you set
<code>TOLLGATE_DATA</code> or <code>TOLLGATE_TOKENS</code>.</p>
<h2>Try it</h2>
<p>Set <code>TOKEN</code> to the management token, and <code>KEY</code> to an API key of the consumer <code>${consumer}</code>. Her first
key is printed at the first start only. This creates another one:</p>
<pre><code>TOKEN=$(cat data/management-token)
${escapeHtml(makeKeyCommand(url))}</code></pre>
<p>List the consumers, create a consumer with an API key, and call the protected route:</p>
<pre><code>${makeCommands(url).map(escapeHtml).join("\n")}</code></pre>
</main>
</body>
</html>
`

export const serveHomePage = (url: string): RequestHandler => {
  const page = renderPage(url)
  return (_req, res) => {
    res.set(headers).send(page)
  }
}
