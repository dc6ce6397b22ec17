package controller

// Again is when what failed is tried again.
var Again = again
