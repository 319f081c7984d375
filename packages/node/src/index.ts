export {
  type HandlerSource,
  type NodeHandler,
  type NodeHandlerOptions,
  toNodeHandler
} from "./toNodeHandler.ts"
