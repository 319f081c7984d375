import express from "express"
import { tollgate } from "tollgate/express"
import { gate, signIn } from "./console.ts"

export const app = express()
app.get("/sign-in", signIn.start)
app.get("/sign-in/callback", signIn.finish)
app.use("/api", tollgate(gate))
