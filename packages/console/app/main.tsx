import { applyAccent } from "@tollgate/ui/theme/accent.ts"
import { render } from "preact"
import { App } from "./App.tsx"
import { startSession } from "./session/session.ts"
import { settings } from "./session/settings.ts"
import "@tollgate/ui/theme/theme.ts"
import "@tollgate/ui/styles/theme.css"
import "@tollgate/ui/styles/base.css"
import "@tollgate/ui/styles/components.css"
import "./styles/layout.css"

applyAccent(settings.brand?.accent)
const root = document.getElementById("app")
if (root !== null) render(<App />, root)
void startSession()
