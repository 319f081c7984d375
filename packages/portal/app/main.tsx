import { applyAccent } from "@tollgate/ui/theme/accent.ts"
import "@tollgate/ui/theme/theme.ts"
import { render } from "preact"
import { App } from "./App.tsx"
import { settings } from "./session/settings.ts"
import { texts } from "./texts/texts.ts"
import "@tollgate/ui/styles/theme.css"
import "@tollgate/ui/styles/base.css"
import "@tollgate/ui/styles/components.css"
import "./styles/portal.css"

applyAccent(settings.color)
document.documentElement.lang = texts.language
document.title = settings.name === undefined ? texts.title : `${texts.title} · ${settings.name}`
const root = document.getElementById("app")
if (root !== null) render(<App />, root)
